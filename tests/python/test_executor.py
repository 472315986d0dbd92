"""holon.Executor: calls, errors, cancellation, shapes, lost workers, ends."""
import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from conftest import PATIENCE, wait_until

import holon

started_here = None


def pid_of_worker(*_):
    return os.getpid()


def remember(value):
    global started_here
    started_here = value


def what_was_remembered():
    return started_here


def fail(text):
    raise LookupError(text)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    return path


def die(path=None):
    if path is not None and os.path.exists(path):
        return "alive"
    if path is not None:
        open(path, "w").close()
    os.kill(os.getpid(), signal.SIGKILL)


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("not me")


def raise_unpicklable():
    raise Unpicklable("but why")


@pytest.fixture
def executor(uri):
    with holon.Executor(2, uri) as made:
        yield made


def active_workers(uri):
    with holon.Instance.connect(uri) as instance:
        return [job for job in instance.jobs() if job.name == "worker"]


def test_calls_run_in_jobs_and_bring_their_results(executor, instance):
    pids = {executor.submit(pid_of_worker).result(PATIENCE) for _ in range(5)}
    assert os.getpid() not in pids and pids <= {pid for job in instance.jobs() for pid in job.pids}
    assert executor.submit(divmod, 17, 5).result(PATIENCE) == (3, 2)
    assert executor.submit(sorted, [3, 1, 2], reverse=True).result(PATIENCE) == [3, 2, 1]
    big = b"x" * 5_000_000
    assert executor.submit(bytes.upper, big).result(PATIENCE) == big.upper()


def test_functions_of_anywhere_can_be_called(executor):
    offset = 5
    assert executor.submit(lambda x: x + offset, 2).result(PATIENCE) == 7

    class Local:
        def __init__(self, x):
            self.x = x

    assert executor.submit(lambda local: Local(local.x + 1), Local(3)).result(PATIENCE).x == 4


def test_an_exception_comes_with_the_workers_traceback(executor):
    future = executor.submit(fail, "nothing there")
    with pytest.raises(LookupError, match="nothing there") as caught:
        future.result(PATIENCE)
    assert "in fail" in str(caught.value.__cause__) and "Traceback" in str(caught.value.__cause__)
    with pytest.raises(SystemExit):
        executor.submit(sys.exit, 3).result(PATIENCE)
    with pytest.raises(RuntimeError, match="Unpicklable: but why"):
        executor.submit(raise_unpicklable).result(PATIENCE)
    with pytest.raises(TypeError):
        executor.submit(threading.Lock).result(PATIENCE)
    with pytest.raises(TypeError):
        executor.submit(str, threading.Lock()).result(PATIENCE)
    assert executor.submit(pow, 2, 3).result(PATIENCE) == 8  # the worker goes on


@pytest.mark.parametrize("chunksize", [1, 3, 100])
@pytest.mark.parametrize("buffersize", [None, 1, 7])
def test_map_has_results_in_order(executor, chunksize, buffersize):
    assert list(executor.map(pow, range(20), [2] * 20, chunksize=chunksize, buffersize=buffersize)) == [i * i for i in range(20)]


def test_map_brings_what_came_before_the_exception(executor):
    results = executor.map(lambda x: 1 // (3 - x), range(5), chunksize=10)
    assert [next(results) for _ in range(3)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert list(executor.map(pow, [], [])) == []
    for wrong in ({"chunksize": 0}, {"buffersize": 0}):
        with pytest.raises(ValueError):
            executor.map(pow, [1], [1], **wrong)


def test_map_of_a_long_iterable_takes_no_more_than_its_buffer(executor):
    taken = []

    def source():
        for i in range(1000):
            taken.append(i)
            yield i

    results = executor.map(abs, source(), buffersize=10)
    assert [next(results) for _ in range(5)] == list(range(5)) and len(taken) <= 16
    results.close()


def test_map_goes_on_by_itself_and_keeps_few_futures(executor):
    done = []
    results = executor.map(abs, range(1500))
    executor.submit(abs, 1).add_done_callback(done.append)  # behind the first of them, before the last
    executor.shutdown()
    assert done and list(results) == list(range(1500))


def test_map_that_is_cancelled_says_so(executor, tmp_path):
    gate = str(tmp_path / "gate")
    results = executor.map(lambda i: i or wait_for(gate), range(1, -3000, -1))
    assert next(results) == 1
    executor.shutdown(wait=False, cancel_futures=True)
    open(gate, "w").close()
    with pytest.raises(concurrent.futures.CancelledError):
        list(results)
    executor.shutdown()


def test_map_has_a_timeout(executor, tmp_path):
    results = executor.map(wait_for, [str(tmp_path / "gate")], timeout=0.2)
    with pytest.raises(concurrent.futures.TimeoutError):
        next(results)
    (tmp_path / "gate").touch()
    executor.shutdown()  # while the file is there


def test_what_has_not_begun_can_be_cancelled(executor, tmp_path):
    gate = str(tmp_path / "gate")
    running = [executor.submit(wait_for, gate) for _ in range(2)]
    wait_until(lambda: all(future.running() for future in running), "calls do not begin")
    waiting = [executor.submit(pid_of_worker) for _ in range(3)]
    assert all(future.cancel() for future in waiting) and not running[0].cancel()
    open(gate, "w").close()
    assert [future.result(PATIENCE) for future in running] == [gate, gate]
    assert all(future.cancelled() for future in waiting)


def test_shutdown_waits_or_cancels_and_leaves_no_job(uri, tmp_path):
    gate = str(tmp_path / "gate")
    executor = holon.Executor(1, uri)
    running, waiting = executor.submit(wait_for, gate), executor.submit(abs, -1)
    wait_until(running.running, "the call does not begin")
    executor.shutdown(wait=False, cancel_futures=True)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, 1)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.map(abs, [1])
    open(gate, "w").close()
    executor.shutdown()
    assert running.result(0) == gate and waiting.cancelled() and active_workers(uri) == []


def test_an_initializer_runs_in_each_worker_and_breaks_all_when_it_fails(uri):
    with holon.Executor(1, uri, initializer=remember, initargs=("this",)) as executor:
        assert executor.submit(what_was_remembered).result(PATIENCE) == "this"
    with holon.Executor(1, uri, initializer=fail, initargs=("not ready",)) as executor:
        with pytest.raises(concurrent.futures.BrokenExecutor, match="not ready"):
            executor.submit(abs, 1).result(PATIENCE)
        with pytest.raises(concurrent.futures.BrokenExecutor):
            executor.submit(abs, 1)


def test_a_call_says_what_its_worker_has(uri, instance):
    with holon.Executor(4, uri) as executor:
        cores = lambda: len(os.environ["HOLON_CORES"].replace("-", ",").split(","))  # noqa: E731
        assert executor.submit(cores, resource_dict={"cores": 1}).result(PATIENCE) == 1
        job = executor.submit(lambda: int(os.environ["HOLON_JOB_ID"]), resource_dict={"cores": 2, "limit": "1h"}).result(PATIENCE)
        record = instance.job(job).record()
        assert (record.ncores, record.limit) == (2, 3_600_000)
        # All four cores: idle workers of other shapes make room.
        assert executor.submit(pow, 2, 2, resource_dict={"cores": 4}).result(PATIENCE) == 4
        with pytest.raises(holon.Unsatisfiable):
            executor.submit(pow, 2, 2, resource_dict={"cores": 5}).result(PATIENCE)
        with pytest.raises(holon.InvalidArgument, match="core,? |no such resource"):
            executor.submit(pow, 2, 2, resource_dict={"core": 5})
        assert executor.submit(pow, 2, 2).result(PATIENCE) == 4


def test_a_lost_worker_costs_its_call_and_no_other(executor):
    lost = executor.submit(die)
    with pytest.raises(holon.WorkerLost, match="signal 9") as caught:
        lost.result(PATIENCE)
    assert caught.value.job.startswith("/")
    assert executor.submit(pow, 2, 3).result(PATIENCE) == 8


def test_a_lost_call_is_run_again_where_that_was_asked_for(uri, tmp_path):
    with holon.Executor(1, uri, retries=1) as executor:
        assert executor.submit(die, str(tmp_path / "once")).result(PATIENCE) == "alive"
        with pytest.raises(holon.WorkerLost):
            executor.submit(die).result(PATIENCE)


def test_a_limit_ends_a_call_and_says_so(uri, tmp_path):
    with holon.Executor(1, uri, resource_dict={"limit": 5}) as executor:
        with pytest.raises(holon.WorkerLost, match="TIMEOUT"):
            executor.submit(wait_for, str(tmp_path / "never")).result(PATIENCE)


def test_a_worker_takes_no_call_that_its_limit_would_cut_short(uri):
    with holon.Executor(1, uri, resource_dict={"limit": 10}) as executor:
        first = executor.submit(pid_of_worker).result(PATIENCE)
        executor.submit(time.sleep, 5.1).result(PATIENCE)
        assert executor.submit(pid_of_worker).result(PATIENCE) != first


def test_workers_that_cannot_begin_say_why(uri):
    with holon.Executor(1, uri, python="/bin/false") as executor:
        with pytest.raises(concurrent.futures.BrokenExecutor, match="end before they can do anything(.|\n)*exit code 1"):
            executor.submit(abs, 1).result(PATIENCE)
    with holon.Executor(1, uri, resource_dict={"queue": "none"}) as executor:
        with pytest.raises(holon.NotFound):
            executor.submit(abs, 1).result(PATIENCE)


def test_idle_workers_end_and_others_come(uri):
    with holon.Executor(2, uri, idle_timeout=0.1) as executor:
        first = executor.submit(pid_of_worker).result(PATIENCE)
        wait_until(lambda: not active_workers(uri), "an idle worker stays")
        assert executor.submit(pid_of_worker).result(PATIENCE) != first


def test_as_many_workers_as_there_is_room_for(uri):
    with holon.Executor(instance=uri) as executor:
        assert executor.max_workers == 4
    with holon.Executor(instance=uri, resource_dict={"cores": 2}) as executor:
        assert executor.max_workers == 2
    for wrong in (0, -1):
        with pytest.raises(ValueError):
            holon.Executor(wrong, uri)


def test_workers_come_by_tcp_too(uri):
    with holon.Executor(1, uri, listen="tcp://127.0.0.1:0", resource_dict={"env": {"A": "b"}}) as executor:
        executor._dispatcher._addresses.pop(0)
        assert executor.submit(lambda: os.environ["A"]).result(PATIENCE) == "b"
    with pytest.raises(holon.InvalidArgument):
        holon.Executor(1, uri, listen="localhost")


def test_who_does_not_know_the_secret_is_shown_out(executor):
    import socket

    [address] = executor._dispatcher._addresses
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(PATIENCE)
        line.connect(address[len("unix:"):])
        assert len(line.recv(1000)) == 32
        line.sendall(b"\0" * 64)
        assert line.recv(1000) == b""
    assert executor.submit(pow, 2, 3).result(PATIENCE) == 8


def test_workers_end_with_their_executor(uri, tmp_path):
    """Of a program that is killed in the middle of a call nothing stays."""
    script = textwrap.dedent("""
        import holon, sys, time, os
        executor = holon.Executor(1, %r)
        def work():
            open(%r, "w").close()
            time.sleep(1000)
        executor.submit(work).add_done_callback(print)
        time.sleep(1000)
    """ % (uri, str(tmp_path / "begun")))
    program = subprocess.Popen([sys.executable, "-c", script])
    wait_until((tmp_path / "begun").exists, "the call does not begin")
    program.kill()
    program.wait()
    wait_until(lambda: not active_workers(uri), "a worker outlives its executor")


def test_a_program_that_ends_waits_for_its_calls(uri):
    script = textwrap.dedent("""
        import holon, time
        executor = holon.Executor(1, %r)
        executor.submit(lambda: time.sleep(0.2) or "done").add_done_callback(lambda f: print(f.result()))
    """ % uri)
    ran = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (ran.returncode, ran.stdout) == (0, "done\n")


def test_an_executor_that_is_forgotten_ends(uri):
    executor = holon.Executor(1, uri)
    future = executor.submit(abs, -3)
    del executor
    assert future.result(PATIENCE) == 3
    wait_until(lambda: not active_workers(uri), "a worker of a forgotten executor stays")


def test_an_executor_can_have_an_instance_of_its_own(uri, instance):
    with holon.Executor(instance=uri, child={"tasks": 2, "conf": ["queue.policy=easy"]}) as executor:
        assert executor.max_workers == 2
        path = executor.submit(lambda: os.environ["HOLON_JOB_PATH"]).result(PATIENCE)
        assert path.count("/") == 2
        # And a call of it may have an executor in turn, in the child.
        def nested():
            with holon.Executor(1) as inner:
                return inner.submit(lambda: os.environ["HOLON_JOB_PATH"]).result(PATIENCE)
        assert executor.submit(nested).result(PATIENCE).rpartition("/")[0] == path.rpartition("/")[0]
    child = instance.job(int(path.split("/")[1])).wait(PATIENCE)
    assert child.is_instance and child.state == "INACTIVE"


def test_asyncio_runs_functions_in_it(executor):
    async def main():
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(executor, abs, -i) for i in range(5)))

    assert asyncio.run(main()) == list(range(5))


def test_calls_outlive_the_broker(sandbox, tmp_path):
    """It is killed while some run, wait, and are submitted: every future ends once."""
    with holon.Instance.connect(sandbox.start()) as instance, holon.Executor(3, instance) as executor:
        ended = []
        futures = [executor.submit(time.sleep, 0.01) for _ in range(100)]
        executor.submit(abs, 1).result(PATIENCE)
        os.kill(instance.status().pid, signal.SIGKILL)
        futures += [executor.submit(time.sleep, 0.01) for _ in range(100)]
        futures += [executor.submit(abs, i, resource_dict={"cores": 2}) for i in range(3)]
        for future in futures:
            future.add_done_callback(ended.append)
        assert concurrent.futures.wait(futures, PATIENCE).not_done == set()
        assert all(future.exception() is None for future in futures) and len(ended) == len(futures)


def test_the_worker_says_what_it_is_when_a_person_starts_it():
    ran = subprocess.run([sys.executable, "-m", "holon.worker"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 2 and "people do not start it" in ran.stderr
    env = {**os.environ, "HOLON_WORKER_AT": "unix:/nowhere", "HOLON_WORKER_SECRET": "00"}
    ran = subprocess.run([sys.executable, "-m", "holon.worker"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert ran.returncode == 1 and 'Executor(listen="tcp://ADDRESS:PORT")' in ran.stderr
