"""A broker that is killed and started again: nothing is lost, nothing comes twice."""
import os
import signal

import pytest
from conftest import PATIENCE, wait_until

import holon


def kill_broker(instance):
    pid = instance.status().pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists("/proc/%d" % pid), "the broker is still there")


@pytest.fixture
def instance(sandbox):
    with holon.Instance.connect(sandbox.start()) as connected:
        yield connected


def test_every_future_ends_once(instance):
    jobs = instance.submit_many(["sleep", "0.1"], 20)
    array = instance.submit_array(["sleep", "0.1"], count=20)
    held = instance.submit(["true"], urgency=0)
    ended = []
    waits = [instance._loop.start(job._job.wait()) for job in [*jobs, *array.tasks, array, held]]
    for wait in waits:
        wait.add_done_callback(lambda done: ended.append(done.result().id))
    kill_broker(instance)
    jobs += [instance.submit(["true"]) for _ in range(10)]  # while there is none
    kill_broker(instance)
    instance.status()  # of the next one: an update that a dying broker has read is not sent again
    held.update(urgency=16)
    for wait in waits:
        assert wait.result(PATIENCE).result == "COMPLETED"
    assert sorted(ended) == sorted([*(job.id for job in jobs[:20]), *(task.id for task in array.tasks), array.id, held.id])
    assert {record.result for record in instance.wait(jobs, PATIENCE)} == {"COMPLETED"}
    assert len(instance.jobs(all=True)) == 32


def test_streams_go_on_where_they_were(instance, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    job = instance.submit("echo one; cat %s; echo two" % gate)
    chunks = job.chunks()
    assert next(chunks).data == b"one\n"
    events = job.events()
    names = [next(events).name]
    kill_broker(instance)
    gate.write_bytes(b"between\n")
    assert b"".join(chunk.data for chunk in chunks) == b"between\ntwo\n"
    names += [event.name for event in events]
    assert names[0] == "submit" and names[-1] == "clean" and len(names) == len(set(names))


def test_a_cursor_goes_on_over_the_restart(instance):
    stream = instance.events(bare=True, names=["clean"])
    next(stream)
    first = instance.submit(["true"])
    first.wait(PATIENCE)
    kill_broker(instance)
    second = instance.submit(["true"])
    found = []
    while second.id not in found:
        found += [event.id for event in next(stream).events]
    assert found == [first.id, second.id]


def test_who_waits_is_told_when_the_instance_ends(sandbox):
    with holon.Instance.connect(sandbox.start()) as instance:
        job = instance.submit(["true"], urgency=0)
        wait = instance._loop.start(job._job.wait())
        instance.shutdown()
        # Told of the job's end in the last moment, or of the instance's.
        try:
            assert wait.result(PATIENCE).result in ("CANCELED", "FAILED")
        except holon.Disconnected as error:
            assert "ended" in str(error)
        with pytest.raises(holon.Disconnected):
            instance.submit(["true"])
