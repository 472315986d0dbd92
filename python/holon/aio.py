"""An instance for asyncio: requests are coroutines, jobs can be awaited, streams are asynchronous iterators.

    async with await holon.AsyncInstance.connect() as instance:
        job = await instance.submit(["hostname"], cores=2, limit="5m")
        record = await job
        print(record.result, (await job.output()).decode())

Every request may fail with Disconnected (it may or may not have been carried out), TimedOut, NotFound (of the instance),
Denied, Busy, ProtocolError. Its own errors stand at each. Times are ms since the Unix epoch, durations in records ms;
arguments of methods are seconds.
"""
from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from typing import Any, AsyncIterator, Iterable, List, Mapping, Optional, Sequence, Union

from . import _specs as specs
from ._jobs import AsyncArray, AsyncJob, Completed
from ._watch import Watch
from ._wire import find
from ._wire.link import LOOK_AGAIN, Link, Patience
from .errors import Busy, Disconnected, Exists, InvalidArgument, JobFailed
from .jobspec import Command, Limit, Spec
from .messages import (TOPICS, CancelReply, CancelRequest, Empty, EventsPart, EventsRequest, ExplainReply, ExplainRequest,
                       Explained, GrantAnswer, GrantAsk, GrantRecall, GrantRelease, GrantReply, GrantWait, JobFilter, JobRecord,
                       JobsReply, JobsRequest, OwnInstanceReply, OwnInstanceRequest, ResourceReply, ShutdownRequest, SubmitReply,
                       SubmitRequest, TreeNode, TreeRequest)

JobLike = Union[AsyncJob, int]
_IDS_AT_ONCE = 5_000
_SUBMITS_AT_ONCE = 500  # of one client; the broker takes thousands, and 32 MiB of them


class AsyncInstance:
    """An instance as a program sees it. REQUIRES: used in the event loop it was connected in."""

    def __init__(self, link: Link, path: str, own: bool = False) -> None:
        self._link = link
        self._path = path
        self._may_have_own = own
        self._watch: Optional[Watch] = None
        self._submits: Optional[asyncio.Semaphore] = None
        self._is_root_of_link = True

    @classmethod
    async def connect(cls, uri: Optional[str] = None, path: str = "", patience: Patience = Patience()) -> "AsyncInstance":
        """Connects. uri: "ipc://DIR/broker", a socket's name, "tcp://HOST:PORT?key=KEY"; None: $HOLON_URI, else the user's
        only instance here. path: of the instance that requests are for, "/3/7", or seen from that at `uri`, "7", "..".
        Errors: Disconnected (none, several, or no answer: what to do), InvalidArgument, Unsupported (tcp without pyzmq)."""
        link = Link(uri if uri is not None else find.find_instance(), patience)
        try:
            await link.session()
            instance = cls(link, "")
            if path:
                instance._path = await instance._absolute(path)
            else:
                instance._may_have_own = _is_anothers(link.uri)
                await instance._go_to_own(make=False)
        except BaseException:
            link.close()
            raise
        return instance

    async def close(self) -> None:
        """Ends the connection, also of instances made by at()."""
        if self._watch is not None:
            self._watch.close()
        if self._is_root_of_link:
            self._link.close()
        await asyncio.sleep(0)

    async def __aenter__(self) -> "AsyncInstance":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return "<holon instance %s at %s>" % (self._path or "/", self._link.uri)

    @property
    def uri(self) -> str:
        """Where it was connected to."""
        return self._link.uri

    @property
    def path(self) -> str:
        """The instance that requests go to; "": that at `uri`."""
        return self._path

    async def at(self, path: str) -> "AsyncInstance":
        """Another instance of the tree over this connection: "/3/7", or seen from here: "7", "..". It need not be there."""
        other = AsyncInstance(self._link, await self._absolute(path))
        other._is_root_of_link = False
        return other

    async def request(self, topic: str, message: Any = None, timeout: Optional[float] = -1) -> Any:
        """Any request of docs/protocol.md that has one answer: a message of holon.messages in, one out.

        timeout: s; negative: 30; None: for as long as it takes. Errors: InvalidArgument (of the topic)."""
        known = TOPICS.get(topic)
        if known is None or known.is_stream:
            raise InvalidArgument("no topic with one answer; holon.messages.TOPICS has them", topic)
        return await self._link.call(topic, known.request() if message is None else message, known.answer, self._path, timeout)

    # ---- submitting ----

    async def submit(self, command: Union[Command, Spec, Mapping[str, Any]], *, key: str = "", **options: Any) -> AsyncJob:
        """Submits a job; it is in the instance's journal once this returns, and never twice: after a lost connection the
        request goes out again, under a key.

        command: words, one line for the shell, a Spec, or a jobspec as a mapping. options: those of Spec (cores=2,
        gpus=1, memory="4G", nodes=2, tasks=4, limit="1h", name=, depends=[job], env={}, cwd=, queue=, ...). key: at most
        128 bytes, of the caller's choice: the same submission with the same key makes no second job.
        Errors: InvalidArgument (with the argument), NotFound (a queue, a job it depends on), Unsatisfiable (it can never
        run here), OutOfRange, Exists (the key), Denied (the queue is closed)."""
        reply = await self._submit(specs.request_of(command, options, key=key))
        return AsyncJob(self, reply.first_id)

    async def submit_many(self, command: Union[Command, Spec, Mapping[str, Any]], count: int, *, key: str = "",
                          **options: Any) -> List[AsyncJob]:
        """Submits `count` equal jobs in one request. Otherwise as submit()."""
        reply = await self._submit(specs.request_of(command, options, count=count, key=key))
        return [AsyncJob(self, reply.first_id + i) for i in range(reply.count)]

    async def submit_array(self, command: Union[Command, Spec, Mapping[str, Any]], entries: Optional[Iterable[Any]] = None, *,
                           count: Optional[int] = None, indices: Optional[str] = None, first: int = 1, step: int = 1,
                           max_running: int = 0, max_fails: Optional[int] = None, key: str = "", **options: Any) -> AsyncArray:
        """Submits an array: one job of many tasks.

        entries: what each task gets, as HOLON_ENTRY and {{entry}} in the command; what is no text travels as JSON, and
        {{entry.FIELD}} is a member of it. count: so many tasks, where there are no entries. indices: "1,3,5-7" in place
        of first and step. max_running: tasks at a time. max_fails: when more have failed, the others are cancelled.
        Otherwise as submit()."""
        array = specs.array_of(entries, count, indices, first, step, max_running, max_fails)
        reply = await self._submit(specs.request_of(command, options, count=array.size, array=array.options, key=key))
        return AsyncArray(self, reply.first_id, reply.tasks or array.size)

    async def run(self, command: Union[Command, Spec, Mapping[str, Any]], *, check: bool = True, timeout: Optional[float] = None,
                  **options: Any) -> Completed:
        """Submits a job, waits for it, and returns its record and what it wrote.

        timeout: s that are waited, then the job is cancelled and TimeoutError raised. Errors: those of submit(), and
        with `check` JobFailed unless it has completed."""
        job = await self.submit(command, **options)
        try:
            record = await job.wait(timeout)
        except BaseException:
            await job.cancel("whoever ran it waits no longer")
            raise
        output, error = await job.outputs()
        if check and record.result != "COMPLETED":
            raise JobFailed(record, (error or output)[-2000:].decode("utf-8", "replace"))
        return Completed(record, output, error)

    async def batch(self, command: Optional[Command] = None, *, conf: Sequence[str] = (), key: str = "", **options: Any) -> AsyncJob:
        """Submits a child instance, with a queue and a policy of its own; `tasks` of `cores` are its slots.

        command: its initial program, with whose end it ends; None: it lasts until its shutdown() or its limit. conf:
        "queue.policy=easy" or names of TOML files. job.instance() is the child, once it is up. Otherwise as submit()."""
        words = [await self.binary(), "start", "--grant"]
        for item in conf:
            words += ["--conf", item if "=" in item else os.path.abspath(item)]
        if command is None:
            words.append("--bg")
        else:
            program = Spec(command)
            options.setdefault("name", program.document()["attributes"]["system"]["job"]["name"])
            words += ["--", *program.words()]
        options.setdefault("name", "instance")
        request = specs.request_of(words, options, key=key)
        request.is_instance = True
        return AsyncJob(self, (await self._submit(request)).first_id)

    async def binary(self) -> str:
        """The program `holon`: $HOLON_BINARY, else that of the broker here, else that in PATH. Errors: NotFound's kin."""
        named = os.environ.get("HOLON_BINARY", "")
        if named:
            return named
        if self._link.uri.startswith("ipc://"):
            try:
                found = os.readlink("/proc/%d/exe" % (await self.status()).pid)
                if os.access(found, os.X_OK):
                    return found
            except OSError:
                pass
        in_path = shutil.which("holon")
        if in_path is None:
            raise InvalidArgument("the program holon is not in PATH; HOLON_BINARY can name it", "batch")
        return in_path

    # ---- jobs ----

    def job(self, number: int) -> AsyncJob:
        """A job by its number. It need not be there: what is asked of it says so."""
        return AsyncJob(self, number)

    async def jobs(self, **which: Any) -> List[JobRecord]:
        """The records of jobs, in the order of their ids. Arguments: those of iter_jobs()."""
        return [record async for record in self.iter_jobs(**which)]

    async def iter_jobs(self, *, all: bool = False, ids: Sequence[int] = (), recursive: bool = False, limit: int = 0,
                        states: Sequence[str] = (), since: int = 0, until: int = 0, user: str = "", queue: str = "",
                        name: str = "") -> AsyncIterator[JobRecord]:
        """Records of jobs, page by page.

        all: inactive ones, too. ids: only these. recursive: of the instances below, too; they come in no order then.
        limit: the newest so many. states: states, results, PENDING, RUNNING, SUSPENDED. since, until: ms since the
        epoch; active or ended then or later; ended before. name: a pattern as of the shell. Errors: NotFound (no id)."""
        chosen = JobFilter(states=list(states), since=since, until=until, user=user, queue=queue, name=name)
        for begin in range(0, max(len(ids), 1), _IDS_AT_ONCE):
            request = JobsRequest(all=all, ids=list(ids[begin:begin + _IDS_AT_ONCE]), recursive=recursive, limit=limit, filter=chosen)
            while True:
                page = await self._link.call_over_restarts("jobs", request, JobsReply, self._path, self._link.patience.bulk)
                for record in page.jobs:
                    yield record
                if not page.next:
                    break
                request.after = page.next

    async def wait(self, jobs: Iterable[JobLike], timeout: Optional[float] = None) -> List[JobRecord]:
        """The records of jobs once all are over, in the order given; `timeout` in s. Errors: NotFound, TimeoutError."""
        futures = [asyncio.ensure_future(self._job(job).wait()) for job in jobs]
        return list(await asyncio.wait_for(asyncio.gather(*futures), timeout))

    async def as_completed(self, jobs: Iterable[JobLike]) -> AsyncIterator[JobRecord]:
        """The records of jobs as they end. Errors: NotFound."""
        for future in asyncio.as_completed([self._job(job).wait() for job in jobs]):
            yield await future

    async def cancel(self, jobs: Iterable[JobLike] = (), *, all: bool = False, reason: str = "") -> CancelReply:
        """Cancels jobs: pending ones are over at once, running ones get SIGTERM, after their grace SIGKILL. all: every job
        that is active. Errors: NotFound (one of them; none is cancelled then)."""
        ids = sorted({self._job(job).id for job in jobs})
        if not ids and not all:
            return CancelReply()
        request = CancelRequest(ids=ids, all=all, reason=reason)
        if len(ids) > _IDS_AT_ONCE:
            request = CancelRequest(numbers=specs.idset(ids), reason=reason)
        return await self._link.call("cancel", request, CancelReply, self._path, self._link.patience.bulk)

    async def explain(self, jobs: Iterable[JobLike] = ()) -> List[Explained]:
        """Why jobs wait (without jobs: the first 64 that do), and what would let them start. Errors: NotFound."""
        request = ExplainRequest(ids=[self._job(job).id for job in jobs])
        return (await self._link.call("explain", request, ExplainReply, self._path, self._link.patience.bulk)).jobs

    async def events(self, cursor: str = "", *, all: bool = False, records: bool = False, node: bool = False, bare: bool = False,
                     names: Sequence[str] = (), arrays: Sequence[int] = ()) -> AsyncIterator[EventsPart]:
        """What happens to all jobs, without end: a snapshot of records, then every event, over restarts of the broker.

        cursor: of the last part that was dealt with, be it in another process: it goes on behind that. all: the snapshot
        has inactive jobs, too. records: with each event the job's record. bare: no snapshot. names: only such events.
        arrays: arrays, and tasks of them, whose records come whenever they have changed. Errors: InvalidArgument (the
        cursor), Disconnected (the instance has ended), NotFound (it had ended before)."""
        request = EventsRequest(cursor=cursor, all=all, records=records, node=node, bare=bare, names=list(names), arrays=list(arrays))
        while True:
            try:
                async for part in self._link.stream("events", request, EventsPart, self._path):
                    request.cursor = part.cursor
                    yield part
                return
            except Disconnected:
                await asyncio.sleep(LOOK_AGAIN)
                await self._link.session()

    # ---- the instance ----

    async def status(self) -> TreeNode:
        """This instance alone."""
        return await self._link.call_over_restarts("status", Empty(), TreeNode, self._path)

    async def tree(self) -> TreeNode:
        """This instance and all below it; those that do not answer in time are marked."""
        return await self._link.call("tree", TreeRequest(), TreeNode, self._path)

    async def resources(self) -> ResourceReply:
        """Units of resources by their types, and nodes."""
        return await self._link.call("resource.list", Empty(), ResourceReply, self._path)

    # ---- grants that move (docs/elastic.md) ----

    async def grants(self) -> GrantReply:
        """What this instance has from the one above (`held`), and what it has given on (`given`)."""
        return await self._link.call_over_restarts("grant.show", Empty(), GrantReply, self._path)

    async def ask_grant(self, slots: int = 1, *, cores: int = 1, gpus: int = 0, limit: Optional[Limit] = None,
                        now: bool = False) -> GrantAnswer:
        """Asks the instance above for more, and waits until that is here (`is_here`) or planned (`at`).

        cores, gpus: of each slot. limit: it goes back after that, seconds, a timedelta or "10m"; None: at the end of this
        instance. now: now or not at all. Errors: Unsatisfiable (it gets none, and why), Unsupported (of a root), Busy."""
        request = GrantAsk(jobspec=specs.jobspec_of_grant(slots, cores, gpus, limit, now))
        return await self._link.call("grant.ask", request, GrantAnswer, self._path, None)

    async def release_grant(self, units: str = "") -> None:
        """Gives back what is beyond its own, once nothing runs there; units: those that came with any of these numbers (of
        grants().held), "": all. Errors: NotFound (there is nothing)."""
        await self._link.call("grant.release", GrantRelease(units=units), Empty, self._path)

    async def recall_grant(self, child: JobLike, *, grant: int = 0, notice: float = 0, kill: bool = False,
                           reason: str = "") -> None:
        """Asks a child of this instance for what it has beyond its own; grant: only what this job holds. notice: s from now;
        kill: what runs there then is ended. Errors: NotFound (it has nothing), Busy (it is on its way there)."""
        request = GrantRecall(child=self._job(child).id, grant=grant, notice=int(notice * 1000), kill=kill, reason=reason)
        await self._link.call("grant.recall", request, Empty, self._path)

    async def wait_for_grants(self, epoch: Optional[int] = None, timeout: Optional[float] = None) -> GrantReply:
        """What this instance has once it has changed more than `epoch` times; None: since this program's job was started,
        if it is a job of this instance (HOLON_GRANT_EPOCH), else from now on. timeout: s. Errors: TimeoutError, Unsupported
        (of a root), Busy (a thousand wait already)."""
        if epoch is None:
            now = await self.grants()
            inside = (os.environ.get("HOLON_JOB_PATH", "").rpartition("/")[0] or "/") == now.path
            epoch = int(os.environ.get("HOLON_GRANT_EPOCH") or 0) if inside else now.epoch
        return await asyncio.wait_for(
            self._link.call_over_restarts("grant.wait", GrantWait(epoch=epoch), GrantReply, self._path, None), timeout)

    async def shutdown(self, reason: str = "") -> None:
        """Ends the instance in order; returns once it knows."""
        try:
            await self._link.call("shutdown", ShutdownRequest(reason=reason), Empty, self._path)
        except Disconnected:
            pass  # it may be gone before its answer is out, as was asked

    # ---- inside ----

    def _job(self, job: JobLike) -> AsyncJob:
        return job if isinstance(job, AsyncJob) else AsyncJob(self, job)

    def _ends(self) -> Watch:
        if self._watch is None:
            self._watch = Watch(self._link, self._path)
        return self._watch

    async def _absolute(self, path: str) -> str:
        here = "/" if path.startswith("/") else (await self.status()).path
        return specs.join_path(here, path)

    async def _go_to_own(self, make: bool) -> None:
        """In an instance for several users requests go to the user's own one."""
        while self._may_have_own:
            request = OwnInstanceRequest(make=make)
            try:
                own = await self._link.call("user.instance", request, OwnInstanceReply, "")
                self._path = own.path
                return
            except Busy:
                await asyncio.sleep(LOOK_AGAIN)  # it waits for its resources, as does what is submitted to it

    async def _submit(self, request: SubmitRequest) -> SubmitReply:
        if self._submits is None:
            self._submits = asyncio.Semaphore(_SUBMITS_AT_ONCE)
        await self._go_to_own(make=True)
        request.key = request.key or secrets.token_hex(16)
        async with self._submits:
            return await self._link.call_over_restarts("submit", request, SubmitReply, self._path, self._link.patience.bulk,
                                                       self._link.patience.restart)


def _is_anothers(uri: str) -> bool:
    """Is it another user's instance, which may serve this one, too?"""
    if "?" in uri:
        return True
    try:
        return os.geteuid() not in (0, os.stat(uri[len("ipc://"):]).st_uid)
    except OSError:
        return False


__all__ = ["AsyncArray", "AsyncInstance", "AsyncJob", "Completed", "Exists", "Patience"]
