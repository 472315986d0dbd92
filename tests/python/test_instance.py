"""An instance from a program: submit, wait, output, cancel, list, explain, follow, children."""
import asyncio
import json
import os
import threading
import time

import pytest
from conftest import PATIENCE

import holon


def test_a_job_runs_and_says_what_it_wrote(instance):
    job = instance.submit(["sh", "-c", "echo out; echo err >&2; printf '\\377'; exit 3"], cores=2, limit="5m", name="four")
    record = job.wait(PATIENCE)
    assert (record.result, record.exit_code, record.ncores, record.limit, record.name) == ("FAILED", 3, 2, 300_000, "four")
    assert job.outputs() == (b"out\n\xff", b"err\n") and job.done
    assert job.record() == record and instance.job(job.id).wait() == record
    with pytest.raises(holon.JobFailed, match="FAILED with exit code 3") as caught:
        job.result()
    assert caught.value.record == record


def test_run_is_all_in_one_and_fails_with_the_jobs_own_words(instance):
    assert instance.run("echo $A", env={"A": "b c"}).output == b"b c\n"
    with pytest.raises(holon.JobFailed, match="exit code 4(.|\n)*no such thing"):
        instance.run("echo no such thing >&2; exit 4")
    assert instance.run(["false"], check=False).record.exit_code == 1


def test_run_that_waits_no_longer_cancels_its_job(instance):
    before = {job.id for job in instance.jobs(all=True)}
    with pytest.raises(TimeoutError):
        instance.run(["sleep", "1000"], timeout=0.2)
    [job] = [job for job in instance.jobs(all=True) if job.id not in before]
    assert instance.job(job.id).wait(PATIENCE).result == "CANCELED"


def test_jobs_depend_on_each_other(instance):
    first = instance.submit("exit 1", urgency=0)
    never = instance.submit(["true"], depends=[first])
    after = instance.submit(["true"], depends=["afternotok:%d" % first.id])
    first.update(urgency=16)
    assert after.wait(PATIENCE).result == "COMPLETED"
    assert never.wait(PATIENCE).exception == "dependency"


def test_arrays_have_entries_and_tasks_that_can_be_waited_for(instance):
    array = instance.submit_array(["sh", "-c", "echo {{entry.x}} $HOLON_ARRAY_INDEX; exit {{entry.x}}"], [{"x": 0}, {"x": 5}, {"x": 0}],
                                  first=10, step=10)
    assert len(array) == 3
    assert [task.wait(PATIENCE).exit_code for task in array.tasks] == [0, 5, 0]
    record = array.wait(PATIENCE)
    assert (record.tasks, record.tasks_completed, record.tasks_failed) == (3, 2, 1) and array.failed() == [20]
    assert array.tasks[1].output() == b"5 20\n"


def test_tasks_come_as_they_end(instance):
    array = instance.submit_array("exit 0", count=50)
    assert sorted(record.index for record in array.as_completed()) == list(range(1, 51))


def test_many_jobs_at_once_and_in_the_order_in_which_they_end(instance):
    jobs = instance.submit_many(["true"], 30)
    assert len({job.id for job in jobs}) == 30
    assert [record.id for record in instance.wait(jobs, PATIENCE)] == [job.id for job in jobs]
    slow, quick = instance.submit(["sleep", "1000"]), instance.submit(["true"])
    ends = instance.as_completed([slow, quick])
    assert next(ends).id == quick.id
    slow.cancel()
    assert [record.id for record in ends] == [slow.id]


def test_cancel_says_what_it_did(instance):
    job = instance.submit(["sleep", "1000"])
    other = instance.submit(["true"], depends=["afterok:%d" % job.id])
    assert sorted(instance.cancel([job, other], reason="no more").cancelled) == [job.id, other.id]
    assert job.wait(PATIENCE).result == "CANCELED" and instance.cancel([job]).already_inactive == [job.id]
    assert instance.cancel([]).cancelled == []


def test_a_list_can_be_narrowed(instance):
    jobs = instance.submit_many(["true"], 3, name="narrow")
    instance.wait(jobs, PATIENCE)
    assert {r.id for r in instance.jobs(all=True, name="narr*", states=["COMPLETED"])} == {job.id for job in jobs}
    assert [r.id for r in instance.iter_jobs(all=True, ids=[jobs[1].id])] == [jobs[1].id]
    assert instance.jobs(all=True, name="narrow", states=["FAILED"]) == []
    assert len(instance.jobs(all=True, limit=2)) == 2


def test_a_wait_has_a_reason(instance):
    held = instance.submit(["true"], urgency=0)
    assert "held" in held.explain().reason or "urgency" in held.explain().reason
    assert held.id in [told.id for told in instance.explain()]
    held.update(urgency=16)
    assert held.wait(PATIENCE).result == "COMPLETED"


def test_a_job_can_be_signalled_and_changed(instance):
    job = instance.submit(["sh", "-c", "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done"], limit="1h")
    assert next(iter(job.chunks())).data == b"ready\n"
    job.update(limit="2h")
    assert job.record().limit == 7_200_000
    job.signal(10)
    assert job.wait(PATIENCE).exit_code == 9
    with pytest.raises(holon.Denied):
        job.signal(10)


def test_events_from_the_first_on_and_information(instance):
    job = instance.submit(["true"])
    names = [event.name for event in job.events()]
    assert names[0] == "submit" and names[-1] == "clean" and "start" in names
    info = job.info()
    assert json.loads(info.jobspec)["tasks"][0]["command"] == ["true"] and info.job.id == job.id


def test_a_stream_goes_on_behind_its_cursor(instance):
    stream = instance.events()
    part = next(stream)
    assert part.anew
    while not part.cursor:
        part = next(stream)
    stream.close()
    job = instance.submit(["true"])
    job.wait(PATIENCE)
    names = []
    for part in instance.events(part.cursor):
        assert not part.anew
        names += [event.name for event in part.events if event.id == job.id]
        if "clean" in names:
            break
    assert names[0] == "submit" and names[-1] == "clean" and len(names) == len(set(names))


def test_mistakes_are_exceptions_with_the_brokers_codes(instance):
    for code, ask in [
        ("unsatisfiable", lambda: instance.submit(["true"], cores=1000)),
        ("not_found", lambda: instance.submit(["true"], queue="none")),
        ("not_found", lambda: instance.submit(["true"], depends=[99999])),
        ("not_found", lambda: instance.job(99999).wait(PATIENCE)),
        ("not_found", lambda: instance.job(99999).record()),
        ("not_found", lambda: instance.job(99999).output()),
        ("not_found", lambda: list(instance.job(99999).events())),
        ("not_found", lambda: instance.cancel([99999])),
        ("not_found", lambda: instance.at("/77").status()),
        ("invalid_argument", lambda: instance.submit({"version": 1})),
        ("invalid_argument", lambda: list(instance.events("no cursor"))),
        ("invalid_argument", lambda: instance.request("no.topic")),
        ("invalid_argument", lambda: instance.request("events")),
        ("invalid_argument", lambda: instance.job(0)),
        ("invalid_argument", lambda: instance.at("../..")),
    ]:
        with pytest.raises(holon.HolonError) as caught:
            ask()
        assert caught.value.code == code, str(caught.value)


def test_the_same_key_makes_no_second_job(instance):
    first = instance.submit(["true"], key="once")
    assert instance.submit(["true"], key="once").id == first.id
    with pytest.raises(holon.Exists):
        instance.submit(["false"], key="once")


def test_any_request_of_the_protocol_can_be_made(instance):
    assert [queue.policy for queue in instance.request("stats").queues]
    assert instance.resources().total["core"] == 4 and instance.status().cores == 4 and instance.tree().health == "up"
    assert instance.request("config.get", holon.messages.ConfigRequest(key="queue.policy")).values


def test_a_child_is_an_instance_with_a_policy_of_its_own(instance):
    job = instance.batch(tasks=2, conf=["queue.policy=easy"], limit="10m")
    with job.instance(PATIENCE) as child:
        assert child.path == "/%d" % job.id and child.status().cores == 2 and child.status().policy == "easy"
        inner = child.submit("echo $HOLON_JOB_PATH")
        assert inner.wait(PATIENCE).result == "COMPLETED" and inner.output().decode().strip() == "%s/%d" % (child.path, inner.id)
        child.shutdown()
        job.wait(PATIENCE)
    assert inner.id in [record.id for record in instance.at("/%d" % job.id).jobs(all=True)]


def test_a_child_asks_for_more_and_gives_it_back(instance):
    job = instance.batch(tasks=1)
    with job.instance(PATIENCE) as child:
        with pytest.raises(holon.InvalidArgument):
            child.ask_grant(0)
        with pytest.raises(holon.Unsatisfiable):
            child.ask_grant(100, now=True)
        before = child.grants().epoch
        answer = child.ask_grant(2, limit="10m")
        assert answer.is_here and answer.cores == 2 and answer.until > 0
        held = child.wait_for_grants(before, PATIENCE)
        assert held.epoch == before + 1 and {part.source: part.cores for part in held.held} == {"owned": 1, "extra": 2}
        assert child.run("true", tasks=3, limit="1m").record.ncores == 3
        assert sum(part.cores for part in instance.grants().given if part.path == child.path) == 3
        child.release_grant()
        assert child.wait_for_grants(held.epoch, PATIENCE).epoch > held.epoch
        with pytest.raises(holon.NotFound):
            child.release_grant("99")
        child.ask_grant()
        instance.recall_grant(job, reason="it is needed")
        with pytest.raises(holon.Unsupported):
            instance.ask_grant()
        with pytest.raises(TimeoutError):
            child.wait_for_grants(1_000, 0.2)
        child.shutdown()
        job.wait(PATIENCE)


def test_a_child_ends_with_its_program(instance):
    job = instance.batch(["sh", "-c", "holon run echo inside"], tasks=1)
    assert job.result(PATIENCE).is_instance and b"inside" in job.output()
    failed = instance.batch(["sh", "-c", "exit 1"], tasks=1)
    failed.wait(PATIENCE)


def test_the_only_instance_is_found_and_others_are_told_apart(sandbox, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", sandbox.run_dir)
    with pytest.raises(holon.Disconnected, match="no instance runs here"):
        holon.Instance.connect()
    first = sandbox.start("--no-journal")
    with holon.Instance.connect() as found:
        assert found.uri == first
    second = sandbox.start("--no-journal")
    with pytest.raises(holon.Disconnected, match="2 instances run here"):
        holon.Instance.connect()
    monkeypatch.setenv("HOLON_URI", second)
    with holon.Instance.connect() as found:
        assert found.uri == second


@pytest.mark.parametrize("uri", ["ipc:///nowhere/broker", "/nowhere/broker", "tcp://127.0.0.1:1"])
def test_nobody_at_an_address_is_said_at_once(uri):
    began = time.monotonic()
    with pytest.raises(holon.Disconnected, match="no instance listens there"):
        holon.Instance.connect(uri, patience=holon.Patience(restart=0))
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("uri", ["nonsense", "http://x:1", "tcp://x", "tcp://x:1?key=zz"])
def test_what_is_no_address_is_said(uri):
    with pytest.raises(holon.InvalidArgument, match="accepted are ipc://"):
        holon.Instance.connect(uri)


def test_what_is_no_broker_is_said(tmp_path):
    import socket
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        with pytest.raises(holon.Disconnected, match="no answer within"):
            holon.Instance.connect(path, patience=holon.Patience(connect=0.3))


def test_jobs_can_be_awaited_in_any_loop_and_streams_be_left(uri):
    async def main():
        async with await holon.AsyncInstance.connect(uri) as instance:
            jobs = await asyncio.gather(*(instance.submit(["true"]) for _ in range(20)))
            records = await asyncio.gather(*jobs)
            assert {record.result for record in records} == {"COMPLETED"}
            async for part in instance.events():
                break
            return [record async for record in instance.as_completed(jobs)]

    assert len(asyncio.run(main())) == 20

    async def other():
        job = blocking.submit(["true"])
        return (await job).result

    with holon.Instance.connect(uri) as blocking:
        assert asyncio.run(other()) == "COMPLETED"


def test_who_waits_can_give_up_and_wait_again(instance):
    job = instance.submit(["sleep", "1000"])
    with pytest.raises(TimeoutError):
        job.wait(0.1)
    job.cancel()
    assert job.wait(PATIENCE).result == "CANCELED"


def test_threads_may_share_a_connection(instance):
    found = []
    threads = [threading.Thread(target=lambda: found.append(instance.run("echo $HOLON_JOB_ID").output)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8


def test_a_callback_that_would_wait_for_itself_is_told(uri):
    with holon.Executor(1, uri) as executor, holon.Instance.connect(uri) as instance:
        told = []

        def callback(done):
            try:
                instance.status()
            except RuntimeError as error:
                told.append(str(error))

        future = executor.submit(abs, 1)
        future.add_done_callback(callback)
        future.result(PATIENCE)
    assert "callback" in told[0]


def test_a_fork_is_told_to_connect_again(instance):
    pid = os.fork()
    if pid == 0:
        try:
            instance.status()
        except RuntimeError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def test_what_was_closed_says_so(uri):
    instance = holon.Instance.connect(uri)
    instance.close()
    with pytest.raises(holon.Disconnected, match="closed"):
        instance.status()


def test_without_packages_of_others_it_is_the_same(uri, module_sandbox):
    """In a Python that finds nothing but holon and its own library."""
    import subprocess
    import sys

    place = os.path.dirname(os.path.dirname(holon.__file__))
    script = ("import sys; sys.path[:] = [p for p in sys.path if 'packages' not in p] + [%r]\n" % place +
              "import holon\nfrom holon._wire import msgpack\nassert msgpack.pack is msgpack.pack_plainly\n"
              "with holon.Instance.connect(%r) as i: print(i.run('echo plain').output, i.status().cores)" % uri)
    ran = subprocess.run([sys.executable, "-I", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.stdout == "b'plain\\n' 4\n"
