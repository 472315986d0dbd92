"""An instance for programs without asyncio: each call returns when the answer is there.

    with holon.Instance.connect() as instance:
        job = instance.submit(["hostname"], cores=2, limit="5m")
        print(job.result().nodelist, job.output().decode())

The connection lives in a thread of its own: heartbeats go on whatever the program does. All methods may be called from any
thread; their errors are those of holon.aio's. timeout: s; None: for as long as it takes.
"""
from __future__ import annotations

import asyncio
import queue as queues
import signal as signals
from typing import (Any, AsyncIterator, Callable, Coroutine, Dict, Generator, Iterable, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, TypeVar, Union, cast)

from ._background import Loop, shared_loop
from ._jobs import AsyncArray, AsyncJob, Completed, Output
from ._wire.link import Patience
from .aio import AsyncInstance
from .jobspec import Command, Limit, Spec
from .messages import (CancelReply, EventsPart, Explained, GrantAnswer, GrantReply, JobEvent, JobInfoReply, JobRecord, ResourceReply,
                       TreeNode)

T = TypeVar("T")
_END = object()


def _iterate(loop: Loop, make: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    """An asynchronous iterator of the loop's thread as one of this thread; a few items ahead."""
    items: "queues.Queue[Any]" = queues.Queue()
    state: Dict[str, asyncio.Event] = {}

    async def pump() -> None:
        room = state["room"] = asyncio.Event()
        room.set()
        try:
            async for item in make():
                items.put(item)
                if items.qsize() > 100:
                    room.clear()
                    await room.wait()
        except BaseException as error:
            items.put((_END, error))
            raise
        items.put((_END, None))

    pumping = loop.start(pump())
    try:
        while True:
            item = items.get()
            if isinstance(item, tuple) and len(item) == 2 and item[0] is _END:
                if item[1] is not None:
                    raise item[1]
                return
            if "room" in state and items.qsize() < 50:
                loop.loop.call_soon_threadsafe(state["room"].set)
            yield cast(T, item)
    finally:
        pumping.cancel()


class Job:
    """A job that was submitted. It can also be awaited, in any event loop: `await job` is its record."""

    def __init__(self, instance: "Instance", job: AsyncJob) -> None:
        self._instance = instance
        self._job = job

    def __repr__(self) -> str:
        return repr(self._job)

    def __await__(self) -> Generator[Any, None, JobRecord]:
        return asyncio.wrap_future(self._instance._loop.start(self._job.wait())).__await__()

    @property
    def id(self) -> int:
        """Its number in its instance."""
        return self._job.id

    @property
    def done(self) -> bool:
        """Is it known here to be over?"""
        return self._job.done

    def wait(self, timeout: Optional[float] = None) -> JobRecord:
        """Its record once it is over. Errors: NotFound, Disconnected (the instance has ended), TimeoutError."""
        return self._do(self._job.wait(timeout))

    def result(self, timeout: Optional[float] = None) -> JobRecord:
        """As wait(). Errors: JobFailed unless it has completed."""
        return self._do(self._job.result(timeout))

    def record(self) -> JobRecord:
        """How it stands now. Errors: NotFound."""
        return self._do(self._job.record())

    def info(self) -> JobInfoReply:
        """All that is kept of it: record, jobspec, R, events. Errors: NotFound."""
        return self._do(self._job.info())

    def cancel(self, reason: str = "") -> CancelReply:
        """Pending: it is over at once; running: SIGTERM, after its grace SIGKILL. Errors: NotFound."""
        return self._do(self._job.cancel(reason))

    def signal(self, number: "Union[int, signals.Signals]") -> None:
        """Sends a signal to its tasks. Errors: NotFound, Denied (it does not run)."""
        self._do(self._job.signal(number))

    def update(self, *, limit: Optional[Limit] = None, name: str = "", queue: str = "", urgency: Optional[int] = None, nodes: int = 0,
               slots: int = 0) -> None:
        """Changes what it asks for; of a running job the limit alone. Errors: as AsyncJob.update()."""
        self._do(self._job.update(limit=limit, name=name, queue=queue, urgency=urgency, nodes=nodes, slots=slots))

    def explain(self) -> Explained:
        """Why it waits, and what would let it start. Errors: NotFound."""
        return self._do(self._job.explain())

    def events(self) -> Iterator[JobEvent]:
        """Its events from the first on, until it is over. Errors: NotFound."""
        return _iterate(self._instance._loop, self._job.events)

    def chunks(self) -> Iterator[Output]:
        """What its tasks write, until it is over. Errors: NotFound."""
        return _iterate(self._instance._loop, self._job.chunks)

    def outputs(self) -> Tuple[bytes, bytes]:
        """All that its tasks wrote, to standard output and to a file of its own for errors, once it is over."""
        return self._do(self._job.outputs())

    def output(self) -> bytes:
        """What its tasks wrote to standard output, once it is over. Errors: NotFound."""
        return self._do(self._job.output())

    def instance(self, timeout: Optional[float] = None) -> "Instance":
        """The child instance that this job is (batch()), once it is up. Errors: JobFailed, TimeoutError."""
        return Instance(self._do(self._job.instance(timeout)), self._instance._loop)

    def _do(self, work: "Coroutine[Any, Any, T]") -> T:
        return self._instance._loop.run(work)


class Array(Job):
    """An array; `tasks` are its tasks, as jobs."""

    def __init__(self, instance: "Instance", array: AsyncArray) -> None:
        super().__init__(instance, array)
        self._array = array
        self.tasks: List[Job] = [Job(instance, task) for task in array.tasks]

    def __len__(self) -> int:
        return len(self.tasks)

    def as_completed(self) -> Iterator[JobRecord]:
        """The records of its tasks as they end."""
        return _iterate(self._instance._loop, self._array.as_completed)

    def failed(self) -> List[int]:
        """The indices of tasks that are over and have not completed."""
        return self._do(self._array.failed())


JobLike = Union[Job, int]


class Instance:
    """An instance as a program sees it."""

    def __init__(self, instance: AsyncInstance, loop: Loop) -> None:
        self._instance = instance
        self._loop = loop

    @classmethod
    def connect(cls, uri: Optional[str] = None, path: str = "", patience: Patience = Patience()) -> "Instance":
        """Connects; arguments and errors are those of AsyncInstance.connect()."""
        loop = shared_loop()
        return cls(loop.run(AsyncInstance.connect(uri, path, patience)), loop)

    def close(self) -> None:
        """Ends the connection."""
        self._loop.run(self._instance.close())

    def __enter__(self) -> "Instance":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._instance)

    @property
    def uri(self) -> str:
        """Where it was connected to."""
        return self._instance.uri

    @property
    def path(self) -> str:
        """The instance that requests go to; "": that at `uri`."""
        return self._instance.path

    def at(self, path: str) -> "Instance":
        """Another instance of the tree over this connection."""
        return Instance(self._loop.run(self._instance.at(path)), self._loop)

    def request(self, topic: str, message: Any = None, timeout: Optional[float] = -1) -> Any:
        """Any request of docs/protocol.md that has one answer; as AsyncInstance.request()."""
        return self._loop.run(self._instance.request(topic, message, timeout))

    def submit(self, command: Union[Command, Spec, Mapping[str, Any]], *, key: str = "", **options: Any) -> Job:
        """Submits a job; as AsyncInstance.submit()."""
        return Job(self, self._loop.run(self._instance.submit(command, key=key, **options)))

    def submit_many(self, command: Union[Command, Spec, Mapping[str, Any]], count: int, *, key: str = "", **options: Any) -> List[Job]:
        """Submits equal jobs in one request; as AsyncInstance.submit_many()."""
        return [Job(self, job) for job in self._loop.run(self._instance.submit_many(command, count, key=key, **options))]

    def submit_array(self, command: Union[Command, Spec, Mapping[str, Any]], entries: Optional[Iterable[Any]] = None,
                     **options: Any) -> Array:
        """Submits an array; as AsyncInstance.submit_array()."""
        return Array(self, self._loop.run(self._instance.submit_array(command, entries, **options)))

    def run(self, command: Union[Command, Spec, Mapping[str, Any]], *, check: bool = True, timeout: Optional[float] = None,
            **options: Any) -> Completed:
        """Submits a job, waits, and returns its record and output; as AsyncInstance.run()."""
        return self._loop.run(self._instance.run(command, check=check, timeout=timeout, **options))

    def batch(self, command: Optional[Command] = None, *, conf: Sequence[str] = (), key: str = "", **options: Any) -> Job:
        """Submits a child instance; as AsyncInstance.batch()."""
        return Job(self, self._loop.run(self._instance.batch(command, conf=conf, key=key, **options)))

    def job(self, number: int) -> Job:
        """A job by its number. It need not be there: what is asked of it says so."""
        return Job(self, self._instance.job(number))

    def jobs(self, **which: Any) -> List[JobRecord]:
        """The records of jobs; as AsyncInstance.iter_jobs()."""
        return self._loop.run(self._instance.jobs(**which))

    def iter_jobs(self, **which: Any) -> Iterator[JobRecord]:
        """The records of jobs, page by page; as AsyncInstance.iter_jobs()."""
        return _iterate(self._loop, lambda: self._instance.iter_jobs(**which))

    def wait(self, jobs: Iterable[JobLike], timeout: Optional[float] = None) -> List[JobRecord]:
        """The records of jobs once all are over, in the order given. Errors: NotFound, TimeoutError."""
        return self._loop.run(self._instance.wait(_async_jobs(jobs), timeout))

    def as_completed(self, jobs: Iterable[JobLike]) -> Iterator[JobRecord]:
        """The records of jobs as they end. Errors: NotFound."""
        asked = _async_jobs(jobs)
        return _iterate(self._loop, lambda: self._instance.as_completed(asked))

    def cancel(self, jobs: Iterable[JobLike] = (), *, all: bool = False, reason: str = "") -> CancelReply:
        """Cancels jobs; as AsyncInstance.cancel()."""
        return self._loop.run(self._instance.cancel(_async_jobs(jobs), all=all, reason=reason))

    def explain(self, jobs: Iterable[JobLike] = ()) -> List[Explained]:
        """Why jobs wait, and what would let them start; as AsyncInstance.explain()."""
        return self._loop.run(self._instance.explain(_async_jobs(jobs)))

    def events(self, cursor: str = "", **options: Any) -> Iterator[EventsPart]:
        """What happens to all jobs, without end; as AsyncInstance.events()."""
        return _iterate(self._loop, lambda: self._instance.events(cursor, **options))

    def status(self) -> TreeNode:
        """This instance alone."""
        return self._loop.run(self._instance.status())

    def tree(self) -> TreeNode:
        """This instance and all below it."""
        return self._loop.run(self._instance.tree())

    def resources(self) -> ResourceReply:
        """Units of resources by their types, and nodes."""
        return self._loop.run(self._instance.resources())

    def grants(self) -> GrantReply:
        """What this instance has from the one above, and what it has given on."""
        return self._loop.run(self._instance.grants())

    def ask_grant(self, slots: int = 1, *, cores: int = 1, gpus: int = 0, limit: Optional[Limit] = None,
                  now: bool = False) -> GrantAnswer:
        """Asks the instance above for more; as AsyncInstance.ask_grant()."""
        return self._loop.run(self._instance.ask_grant(slots, cores=cores, gpus=gpus, limit=limit, now=now))

    def release_grant(self, units: str = "") -> None:
        """Gives back what is beyond its own; as AsyncInstance.release_grant()."""
        self._loop.run(self._instance.release_grant(units))

    def recall_grant(self, child: JobLike, *, grant: int = 0, notice: float = 0, kill: bool = False,
                     reason: str = "") -> None:
        """Asks a child for what it has beyond its own; as AsyncInstance.recall_grant()."""
        [job] = _async_jobs([child])
        self._loop.run(self._instance.recall_grant(job, grant=grant, notice=notice, kill=kill, reason=reason))

    def wait_for_grants(self, epoch: Optional[int] = None, timeout: Optional[float] = None) -> GrantReply:
        """What this instance has once it has changed; as AsyncInstance.wait_for_grants()."""
        return self._loop.run(self._instance.wait_for_grants(epoch, timeout))

    def shutdown(self, reason: str = "") -> None:
        """Ends the instance in order; returns once it knows."""
        self._loop.run(self._instance.shutdown(reason))


def _async_jobs(jobs: Iterable[JobLike]) -> List[Union[AsyncJob, int]]:
    return [job._job if isinstance(job, Job) else job for job in jobs]
