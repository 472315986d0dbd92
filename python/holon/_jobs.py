"""Jobs as futures of asyncio."""
from __future__ import annotations

import asyncio
import signal as signals
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Generator, List, NamedTuple, Optional, Tuple, Union

from . import _specs as specs
from ._wire.link import LOOK_AGAIN
from .errors import Disconnected, InvalidArgument, JobFailed, NotFound
from .jobspec import Limit, seconds
from .messages import (AttachRequest, CancelReply, Empty, Explained, JobEvent, JobInfoReply, JobInfoRequest, JobRecord, OutputChunk,
                       SignalRequest, TasksReply, TasksRequest, UpdateRequest, WatchRequest)

if TYPE_CHECKING:
    from .aio import AsyncInstance


class Completed(NamedTuple):
    """A job that is over, and what its tasks wrote (bytes; `error` is empty where both go to one file)."""

    record: JobRecord
    output: bytes
    error: bytes


class Output(NamedTuple):
    """A piece of what a task wrote; task -1: of a file that the tasks share."""

    task: int
    is_error: bool
    data: bytes


class AsyncJob:
    """A job that was submitted. `await job` is its record once it is over, whatever its end; result() fails unless it has
    completed. All waiting goes over one stream of events, and on where it was when the broker is started again."""

    def __init__(self, instance: "AsyncInstance", number: int, is_task: bool = False) -> None:
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InvalidArgument("%r is no number of a job" % (number,))
        self._instance = instance
        self._is_task = is_task
        self._record: Optional[JobRecord] = None
        self.id = number

    def __repr__(self) -> str:
        return "<job %d of %s%s>" % (self.id, self._instance.path or "/", ": " + self._record.result if self._record else "")

    def __await__(self) -> Generator[Any, None, JobRecord]:
        return self.wait().__await__()

    @property
    def done(self) -> bool:
        """Is it known here to be over?"""
        return self._record is not None

    async def wait(self, timeout: Optional[float] = None) -> JobRecord:
        """Its record once it is over; `timeout` in s. Errors: NotFound, Disconnected (the instance has ended),
        TimeoutError (asyncio's)."""
        if self._record is None:
            end = self._instance._ends().end_of(self.id, self._is_task)
            self._record = await asyncio.wait_for(asyncio.shield(end), timeout)
        return self._record

    async def result(self, timeout: Optional[float] = None) -> JobRecord:
        """As wait(). Errors: JobFailed unless it has completed."""
        record = await self.wait(timeout)
        if record.result != "COMPLETED":
            raise JobFailed(record)
        return record

    async def record(self) -> JobRecord:
        """How it stands now. Errors: NotFound."""
        found = await self._instance.jobs(all=True, ids=[self.id])
        if not found:
            raise NotFound("job %d: there is no such job in this instance" % self.id)
        return found[0]

    async def info(self) -> JobInfoReply:
        """All that is kept of it: record, jobspec, R, events. Errors: NotFound."""
        told: JobInfoReply = await self._ask("job.info", JobInfoRequest(id=self.id), JobInfoReply)
        return told

    async def cancel(self, reason: str = "") -> CancelReply:
        """Pending: it is over at once; running: SIGTERM, after its grace SIGKILL. Errors: NotFound."""
        return await self._instance.cancel([self], reason=reason)

    async def signal(self, number: "Union[int, signals.Signals]") -> None:
        """Sends a signal to its tasks. Errors: NotFound, Denied (it does not run)."""
        await self._ask("job.signal", SignalRequest(ids=[self.id], signal=int(number)), Empty)

    async def update(self, *, limit: Optional[Limit] = None, name: str = "", queue: str = "", urgency: Optional[int] = None,
                     nodes: int = 0, slots: int = 0) -> None:
        """Changes what it asks for; of a running job the limit alone (0: none). Errors: NotFound, Denied (it is over, or
        has started), InvalidArgument, Unsatisfiable."""
        request = UpdateRequest(ids=[self.id], name=name, queue=queue, nodes=nodes, slots=slots)
        if limit is not None:
            request.limit = round(1000 * seconds(limit))
        if urgency is not None:
            request.urgency = urgency
        await self._ask("job.update", request, Empty)

    async def explain(self) -> Explained:
        """Why it waits, and what would let it start. Errors: NotFound."""
        return (await self._instance.explain([self]))[0]

    async def events(self) -> AsyncIterator[JobEvent]:
        """Its events (RFC 21) from the first on, until it is over, over restarts of the broker. Errors: NotFound."""
        known = 0
        while True:
            seen = 0
            try:
                async for event in self._stream("job.watch", WatchRequest(ids=[self.id]), JobEvent):
                    seen += 1
                    if seen > known:
                        known = seen
                        yield event
                return
            except Disconnected:
                await self._reconnected()

    async def chunks(self) -> AsyncIterator[Output]:
        """What its tasks write, from the beginning until it is over, over restarts of the broker. Errors: NotFound."""
        shown: Dict[Tuple[int, bool], int] = {}  # bytes; a stream begins with the first one each time
        while True:
            skip = dict(shown)
            try:
                async for chunk in self._stream("job.attach", AttachRequest(id=self.id), OutputChunk):
                    file = (chunk.task, chunk.error)
                    data = chunk.data.encode("utf-8", "surrogateescape")
                    known = min(skip.get(file, 0), len(data))
                    skip[file] = skip.get(file, 0) - known
                    shown[file] = shown.get(file, 0) + len(data) - known
                    if known < len(data):
                        yield Output(chunk.task, chunk.error, data[known:])
                return
            except Disconnected:
                await self._reconnected()

    async def outputs(self) -> Tuple[bytes, bytes]:
        """All that its tasks wrote to standard output and to a file of their own for errors, once it is over."""
        out, err = bytearray(), bytearray()
        async for chunk in self.chunks():
            (err if chunk.is_error else out).extend(chunk.data)
        return bytes(out), bytes(err)

    async def output(self) -> bytes:
        """What its tasks wrote to standard output, once it is over. Errors: NotFound."""
        return (await self.outputs())[0]

    async def instance(self, timeout: Optional[float] = None) -> "AsyncInstance":
        """The child instance that this job is (batch()), once it is up; `timeout` in s. Errors: JobFailed (it ended before),
        TimeoutError."""
        await asyncio.wait_for(self._up(), timeout)
        return await self._instance.at(str(self.id))

    async def _up(self) -> None:
        async for event in self.events():
            if event.name == "instance":
                return
        raise JobFailed(await self.wait())

    async def _ask(self, topic: str, message: Any, kind: Any) -> Any:
        return await self._instance._link.call(topic, message, kind, self._instance.path)

    def _stream(self, topic: str, message: Any, kind: Any) -> AsyncIterator[Any]:
        return self._instance._link.stream(topic, message, kind, self._instance.path)

    async def _reconnected(self) -> None:
        await asyncio.sleep(LOOK_AGAIN)
        await self._instance._link.session()


class AsyncArray(AsyncJob):
    """An array. `await array` is its own record, which counts how its tasks ended; `array.tasks` can be awaited each."""

    def __init__(self, instance: "AsyncInstance", number: int, tasks: int) -> None:
        super().__init__(instance, number)
        self.tasks: List[AsyncJob] = [AsyncJob(instance, number + 1 + i, is_task=True) for i in range(tasks)]

    def __len__(self) -> int:
        return len(self.tasks)

    async def as_completed(self) -> AsyncIterator[JobRecord]:
        """The records of its tasks as they end."""
        async for record in self._instance.as_completed(self.tasks):
            yield record

    async def failed(self) -> List[int]:
        """The indices of tasks that are over and have not completed."""
        request = TasksRequest(array=self.id, results="FAILED,TIMEOUT,CANCELED")
        reply = await self._instance._link.call_over_restarts("job.tasks", request, TasksReply, self._instance.path)
        return specs.numbers_of(reply.indices) if reply.indices else []
