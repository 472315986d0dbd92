"""holon.Executor: concurrent.futures.Executor whose workers are jobs."""
from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import itertools
import os
import sys
import time
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .. import _channel as channel
from .. import _pickling as pickling
from .._background import Loop, before_end, shared_loop
from ..aio import AsyncInstance
from ..blocking import Instance
from ..errors import InvalidArgument
from ..jobspec import seconds
from .dispatcher import Dispatcher, Settings
from .feed import Feed
from .tasks import Task

_SHAPE = ("cores", "gpus", "memory", "nodes", "limit", "exclusive", "requires", "queue", "env", "cwd")
Shape = Tuple[Tuple[str, Any], ...]
_AHEAD = 1000  # chunks of a map() that wait for a worker: the others cost no more than their arguments


def _shape_of(resource_dict: Optional[Mapping[str, Any]]) -> Shape:
    """What tells pools of workers apart. Errors: InvalidArgument."""
    if not resource_dict:
        return ()
    for name in resource_dict:
        if name not in _SHAPE:
            raise InvalidArgument("there is no such resource; there are %s" % ", ".join(_SHAPE), name)
    return tuple(sorted((name, _fixed(value)) for name, value in resource_dict.items()))


def _fixed(value: Any) -> Any:
    """A value that can be a key, and still be read as what it was."""
    if isinstance(value, Mapping):
        return _FixedMap(value)
    return tuple(value) if isinstance(value, list) else value


class _FixedMap(Dict[str, Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


class Executor(concurrent.futures.Executor):
    """Runs functions in warm workers, each of which is a job of an instance: bound to its cores, within the instance's queue
    and policy, seen by `holon jobs`. More of them are started while calls wait, and idle ones end.

    max_workers: at most so many at a time; None: as many as the instance has room for (cores by cores). instance: an
    Instance, an address, or None for the one that Instance.connect() finds. resource_dict: what each worker's job asks
    for, unless a call says otherwise: cores, gpus, memory (bytes, "4G"), nodes, limit (s, "1h"), exclusive, requires,
    queue, env, cwd. A limit is that of a worker's life: it takes no more calls in the second half of it,
    so that each has at least that. initializer(*initargs): run first in each worker; if it fails, the executor is broken. retries: so many
    times a call is run again whose worker was lost. idle_timeout: s after which an idle worker ends. child: options of
    Instance.batch() ({"tasks": 4, "conf": ["queue.policy=easy"]}): the workers run in a child instance, which ends with
    the executor. listen: "tcp://ADDRESS:PORT", where workers on other nodes reach this process (port 0: any); without it
    they are on this node alone. python: the interpreter of the workers.

    Errors: those of Instance.connect(), InvalidArgument; of calls: what the function raises, with the worker's traceback
    as cause; WorkerLost; Unsatisfiable (no worker can ever have what is asked for); BrokenExecutor.
    """

    def __init__(self, max_workers: Optional[int] = None, instance: Union[Instance, str, None] = None, *,
                 resource_dict: Optional[Mapping[str, Any]] = None, initializer: Optional[Callable[..., object]] = None,
                 initargs: Sequence[Any] = (), retries: int = 0, idle_timeout: float = 60.0, child: Optional[Mapping[str, Any]] = None,
                 listen: str = "", name: str = "worker", python: str = sys.executable) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if retries < 0:
            raise ValueError("retries must not be negative")
        options: Dict[str, Any] = {"name": name, **dict(_shape_of(resource_dict))}
        if options.get("limit") is not None:
            seconds(options["limit"])
        first = pickling.dumps((initializer, tuple(initargs))) if initializer is not None else None
        self._retries = retries
        self._loop: Loop = instance._loop if isinstance(instance, Instance) else shared_loop()
        self._dispatcher: Dispatcher = self._loop.run(
            _open(instance, child, max_workers, Settings(0, options, first, float(idle_timeout), listen, python)))
        # The dispatcher knows nothing of this object: calls that are on their way end well when it is not used any more.
        weakref.finalize(self, self._dispatcher.request_shutdown).atexit = False
        _living.add(self._dispatcher)
        self._dispatcher.ended.add_done_callback(functools.partial(_forget, self._dispatcher))

    @property
    def max_workers(self) -> int:
        """At most so many workers at a time."""
        return self._dispatcher.max_workers

    @property
    def _max_workers(self) -> int:
        """The same, as Dask asks for it."""
        return self._dispatcher.max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, resource_dict: Optional[Mapping[str, Any]] = None,
               **kwargs: Any) -> "concurrent.futures.Future[Any]":
        """Runs fn(*args, **kwargs) in a worker. resource_dict: what that worker's job asks for beyond the executor's own
        resource_dict. Errors: RuntimeError (after shutdown), BrokenExecutor, InvalidArgument; what pickling raises is the
        future's."""
        shape = _shape_of(resource_dict)
        try:
            task = Task(pickling.dumps_function(fn), pickling.dumps_arguments(args, kwargs), channel.CALL, self._retries)
        except Exception as error:
            return self._unsendable(error)
        self._dispatcher.add(shape, task)
        return task.future

    def _unsendable(self, error: Exception) -> "concurrent.futures.Future[Any]":
        if self._dispatcher.is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        failed: "concurrent.futures.Future[Any]" = concurrent.futures.Future()
        failed.set_running_or_notify_cancel()
        failed.set_exception(error)
        return failed

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: int = 1,
            buffersize: Optional[int] = None, resource_dict: Optional[Mapping[str, Any]] = None) -> Iterator[Any]:
        """The results of fn for the items of the iterables, in their order.

        timeout: s from this call to a result that is asked for; TimeoutError then. chunksize: items that go to a worker
        at once. buffersize: items that are read ahead of the results that are taken, at most; None: all are read
        now, and run whether results are taken or not. Errors: as submit(), and ValueError (chunksize, buffersize)."""
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if buffersize is not None and buffersize < 1:
            raise ValueError("buffersize must be >= 1")
        end = None if timeout is None else time.monotonic() + timeout
        shape = _shape_of(resource_dict)
        function = pickling.dumps_function(fn)
        items = zip(*iterables)
        chunks = _chunks(items if buffersize is not None else list(items), chunksize)
        feed = Feed(self._dispatcher, shape, function, self._retries, chunks)
        feed.begin(_AHEAD if buffersize is None else max(1, buffersize // chunksize), goes_on=buffersize is None)
        return _results(feed, end)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more calls, and ends the workers behind those that there are. wait: returns when all has ended.
        cancel_futures: calls that have not begun are cancelled."""
        self._dispatcher.request_shutdown(cancel_futures)
        if wait:
            self._dispatcher.ended.result()


def _chunks(items: Iterable[Tuple[Any, ...]], size: int) -> Iterator[List[Tuple[Any, ...]]]:
    source = iter(items)
    while True:
        chunk = list(itertools.islice(source, size))
        if not chunk:
            return
        yield chunk


def _results(feed: Feed, end: Optional[float]) -> Iterator[Any]:
    """Results one by one; what was not asked for yet is cancelled when nobody asks any more."""
    try:
        while True:
            future = feed.take()
            if future is None:
                return
            left = None if end is None else end - time.monotonic()
            results, trouble = _taken(future, left)
            del future
            results.reverse()
            while results:
                yield results.pop()
            if trouble is not None:
                raise_told(trouble)
    finally:
        feed.stop()


def _taken(future: "concurrent.futures.Future[Any]", timeout: Optional[float]) -> Tuple[List[Any], Optional[bytes]]:
    """What a chunk brought. No reference to the future stays."""
    try:
        answer: Tuple[List[Any], Optional[bytes]] = future.result(timeout)
        return answer
    finally:
        future.cancel()
        del future


def raise_told(body: bytes) -> None:
    """Raises the exception that a worker told. Errors: that."""
    task = Task(b"", b"", channel.CALL, 0)
    task.begin()
    task.finish(channel.RAISED, body)
    task.future.result()


async def _open(instance: Union[Instance, str, None], child: Optional[Mapping[str, Any]], max_workers: Optional[int],
                settings: Settings) -> Dispatcher:
    is_ours = not isinstance(instance, Instance)
    chosen = instance._instance if isinstance(instance, Instance) else await AsyncInstance.connect(instance)
    job = None
    try:
        below = chosen
        if child is not None:
            job = await chosen.batch(**child)
            below = await job.instance()
        if max_workers is None:
            node = await below.status()
            cores = settings.options.get("cores", 1)
            max_workers = max(1, node.cores // (cores if isinstance(cores, int) and cores > 0 else 1))
        dispatcher = Dispatcher(asyncio.get_running_loop(), below, settings._replace(max_workers=max_workers))
        await dispatcher.open()
    except BaseException:
        if job is not None:
            await job.cancel("the executor could not begin")
        if is_ours:
            await chosen.close()
        raise

    async def close() -> None:
        if job is not None:
            await below.shutdown("its executor was shut down")
            await job.wait()
        if is_ours:
            await chosen.close()

    dispatcher.on_end = close
    return dispatcher


_living: "set[Dispatcher]" = set()


def _forget(dispatcher: Dispatcher, ended: "concurrent.futures.Future[None]") -> None:
    _living.discard(dispatcher)


def _end_all() -> None:
    """As other executors do, the interpreter waits at its end for calls that were submitted."""
    living = [dispatcher for dispatcher in _living if dispatcher.pid == os.getpid()]
    for dispatcher in living:
        dispatcher.request_shutdown()
    for dispatcher in living:
        dispatcher.ended.result()


before_end.append(_end_all)
__all__ = ["Executor"]
