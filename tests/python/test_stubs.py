"""Adapters for packages that Debian 12 does not have, against stubs of their interfaces: what they submit, and what they report."""
import asyncio
import contextlib
import datetime
import enum
import sys
import threading
import types

import pytest
from conftest import PATIENCE

import holon


def module(monkeypatch, name, **things):
    made = types.ModuleType(name)
    made.__dict__.update(things)
    monkeypatch.setitem(sys.modules, name, made)
    return made


@pytest.fixture(autouse=True)
def fresh(monkeypatch, uri):
    monkeypatch.setenv("HOLON_URI", uri)
    for name in list(sys.modules):
        if name.startswith(("holon.adapters.", "snakemake_executor_plugin_holon")):
            monkeypatch.delitem(sys.modules, name)


class Bag(types.SimpleNamespace):
    def __getattr__(self, name):
        return None


def test_snakemake_8(monkeypatch, instance):
    class SubmittedJobInfo:
        def __init__(self, job, external_jobid=None):
            self.job, self.external_jobid = job, external_jobid

    class RemoteExecutor:
        def __init__(self):
            self.told = []
            self.status_rate_limiter = contextlib.AsyncExitStack()
            self.__post_init__()

        def format_job_exec(self, job):
            return job.command

        def report_job_submission(self, info):
            self.told.append(("submitted", info))

        def report_job_success(self, info):
            self.told.append(("success", info))

        def report_job_error(self, info, msg=None):
            self.told.append(("error", msg))

    package = "snakemake_interface_executor_plugins"
    for name in (package, package + ".executors"):
        module(monkeypatch, name)
    module(monkeypatch, package + ".executors.base", SubmittedJobInfo=SubmittedJobInfo)
    module(monkeypatch, package + ".executors.remote", RemoteExecutor=RemoteExecutor)
    module(monkeypatch, package + ".settings", CommonSettings=Bag)
    import snakemake_executor_plugin_holon as plugin

    assert plugin.common_settings.non_local_exec
    executor = plugin.Executor()
    job = lambda command, threads=1: Bag(command=command, threads=threads, name="rule", resources={"runtime": 5})  # noqa: E731
    for command in ("true", "exit 3", "sleep 1000"):
        executor.run_job(job(command))
    executor.run_job(job("true", threads=1000))
    kinds = [kind for kind, _ in executor.told]
    assert kinds == ["submitted"] * 3 + ["error"] and "holon refuses it" in executor.told[3][1]
    infos = [info for kind, info in executor.told if kind == "submitted"]
    instance.wait([int(info.external_jobid) for info in infos[:2]], PATIENCE)
    assert instance.job(int(infos[0].external_jobid)).record().limit == 300_000
    gone = SubmittedJobInfo(None, "99999")

    async def check():
        return [info async for info in executor.check_active_jobs([*infos, gone])]

    assert asyncio.run(check()) == [infos[2]]
    assert [kind for kind, _ in executor.told[4:]] == ["success", "error", "error"]
    executor.cancel_jobs(infos[2:])
    assert instance.job(int(infos[2].external_jobid)).wait(PATIENCE).result == "CANCELED"


def test_psij(monkeypatch, instance):
    class JobState(enum.Enum):
        QUEUED, ACTIVE, COMPLETED, FAILED, CANCELED = range(5)

    class JobStatus:
        def __init__(self, state, exit_code=None, message=None):
            self.state, self.exit_code, self.message = state, exit_code, message

    class JobExecutor:
        known = {}

        def __init__(self, url=None, config=None):
            pass

        @classmethod
        def register_executor(cls, kind, name):
            cls.known[name] = kind

        def _set_job_status(self, job, status):
            job.states.append(status)
            if status.state.value >= 2:
                job.over.set()

    module(monkeypatch, "psij", Job=Bag, JobExecutor=JobExecutor, JobState=JobState, JobStatus=JobStatus,
           SubmitException=type("SubmitException", (Exception,), {}))
    from holon.adapters import psij

    psij.register()
    executor = JobExecutor.known["holon"]()

    def job(*words, **resources):
        attributes = Bag(duration=datetime.timedelta(minutes=5))
        spec = Bag(executable=words[0], arguments=list(words[1:]), attributes=attributes, inherit_environment=True,
                   resources=Bag(**resources) if resources else None)
        return types.SimpleNamespace(spec=spec, states=[], over=threading.Event())

    good, bad, long = job("true", cpu_cores_per_process=2), job("sh", "-c", "exit 3"), job("sleep", "1000")
    for one in (good, bad, long):
        executor.submit(one)
    assert str(long._native_id) in executor.list()
    executor.cancel(long)
    for one in (good, bad, long):
        assert one.over.wait(PATIENCE)
    assert [one.states[-1].state for one in (good, bad, long)] == [JobState.COMPLETED, JobState.FAILED, JobState.CANCELED]
    assert bad.states[-1].exit_code == 3 and instance.job(good._native_id).record().ncores == 2
    with pytest.raises(Exception, match="cores"):
        executor.submit(job("true", cpu_cores_per_process=1000))


def test_parsl(monkeypatch, uri):
    for name in ("parsl", "parsl.executors"):
        module(monkeypatch, name)
    module(monkeypatch, "parsl.executors.base", ParslExecutor=object)
    from holon.adapters.parsl import HolonExecutor

    executor = HolonExecutor(max_workers=2)
    executor.start()
    future = executor.submit(pow, {"cores": 2, "running_time_min": 5, "priority": 1}, 2, 5)
    assert future.result(PATIENCE) == 32
    with pytest.raises(holon.InvalidArgument):
        executor.submit(pow, {"disk": 2}, 2, 5)
    executor.shutdown()
