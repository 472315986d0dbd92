"""Which worker runs which call, and when there are more or fewer of them. All of it happens in the loop's thread.

A worker has one call at a time: what waits, waits here, where it can be cancelled, and no short call stands behind a long
one. Workers are started while calls wait that none of them takes, up to `max_workers`; an idle one ends when its time is
over, or when calls of another shape wait for what it holds.
"""
from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
import pickle
import secrets
import shutil
import sys
import tempfile
import threading
from collections import deque
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Set, Tuple

from .. import _channel as channel
from .._wire import find
from ..aio import AsyncInstance
from ..errors import HolonError, InvalidArgument
from ..jobspec import Spec
from ..messages import JobRecord
from .feed import Feed
from .tasks import Task, WorkerLost
from .workers import Line, Pool, Worker

_LOOK_EVERY = 0.25  # s
_END_IS_TOLD = 5.0  # s in which the broker says how a worker ended whose connection is gone
_STARTS = 3  # jobs in a row that end before they connect, until calls fail
_STOPS_WITHIN = 10.0  # s after which a worker that was told to stop is cancelled

Queued = Tuple[Tuple[Tuple[str, Any], ...], Task]


class Settings(NamedTuple):
    """What all workers of an executor have in common."""

    max_workers: int
    options: Dict[str, Any]  # of their jobs
    initializer: Optional[bytes]  # pickled (function, args)
    idle_timeout: float  # s
    listen: str  # "tcp://HOST:PORT"; "": a unix socket alone
    python: str


class Dispatcher:
    """REQUIRES: all but add(), request_shutdown() and `ended` is used in the loop of the instance."""

    def __init__(self, loop: asyncio.AbstractEventLoop, instance: AsyncInstance, settings: Settings) -> None:
        self.pid = os.getpid()
        self._loop = loop
        self._instance = instance
        self._settings = settings
        self._secret = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._inbox: Deque[Queued] = deque()
        self._is_woken = False
        self._feeds: Set[Feed] = set()
        self._pools: Dict[Tuple[Tuple[str, Any], ...], Pool] = {}
        self._workers: Dict[int, Worker] = {}  # by their jobs
        self._early: Dict[int, Line] = {}  # said hello before the submission was answered
        self._servers: List[asyncio.AbstractServer] = []
        self._addresses: List[str] = []
        self._folder = ""
        self._background: "set[asyncio.Task[None]]" = set()
        self._is_ending = False
        self._cancels = False
        self.broken: Optional[BaseException] = None
        self.is_shut = False  # no more calls are taken
        self.on_end: Any = None  # a coroutine function, called once at the very end
        self.ended: "concurrent.futures.Future[None]" = concurrent.futures.Future()

    @property
    def max_workers(self) -> int:
        """At most so many workers at a time."""
        return self._settings.max_workers

    # ---- from any thread ----

    def add(self, shape: Tuple[Tuple[str, Any], ...], task: Task, feed: Optional[Feed] = None) -> None:
        """A call for a worker of that shape. One of a feed that began before the shutdown is taken. Errors: RuntimeError (it
        was shut down), BrokenExecutor."""
        with self._lock:
            if self.broken is not None:
                raise concurrent.futures.BrokenExecutor(str(self.broken)) from self.broken
            if self.is_shut and feed not in self._feeds:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._inbox.append((shape, task))
            is_first, self._is_woken = not self._is_woken, True
        if is_first:
            self._loop.call_soon_threadsafe(self._wake)

    def begin_feed(self, feed: Feed) -> None:
        """More calls will come, also after a shutdown. Errors: RuntimeError (it was shut down before)."""
        with self._lock:
            if self.is_shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self._feeds.add(feed)

    def end_feed(self, feed: Feed) -> None:
        """No more calls will come of it."""
        with self._lock:
            self._feeds.discard(feed)
            is_last = self.is_shut and not self._feeds
        if is_last:
            self._loop.call_soon_threadsafe(self._wake)

    def request_shutdown(self, cancel_futures: bool = False) -> None:
        """No more calls; `ended` when those there are done, or cancelled, and all workers have gone."""
        with self._lock:
            self.is_shut = True
            self._cancels = self._cancels or cancel_futures
        self._loop.call_soon_threadsafe(self._wake)

    # ---- beginning and end ----

    async def open(self) -> None:
        """Listens for workers. Errors: OSError, InvalidArgument."""
        base = find.runtime_bases()[0]
        self._folder = tempfile.mkdtemp(prefix="holon-ex-", dir=base)
        path = os.path.join(self._folder, "workers")
        make = functools.partial(Line, self._secret, self._on_hello)
        self._servers.append(await self._loop.create_unix_server(make, path))
        self._addresses.append("unix:" + path)
        if self._settings.listen:
            host, _, port = self._settings.listen[len("tcp://"):].rpartition(":")
            if not self._settings.listen.startswith("tcp://") or not host or not port.isdigit():
                raise InvalidArgument("%r is not accepted; tcp://ADDRESS:PORT is, of this node, port 0 for any"
                                      % self._settings.listen, "listen")
            server = await self._loop.create_server(make, host, int(port))
            self._servers.append(server)
            bound = server.sockets[0].getsockname()[1]
            self._addresses.append("tcp:%s:%d" % (os.uname().nodename if host in ("0.0.0.0", "::") else host, bound))
        self._loop.call_later(_LOOK_EVERY, self._look)

    def _wake(self) -> None:
        with self._lock:
            self._is_woken = False
            arrived, self._inbox = self._inbox, deque()
        touched: List[Pool] = []
        for shape, task in arrived:
            pool = self._pools.get(shape)
            if pool is None:
                pool = self._pools[shape] = Pool({**self._settings.options, **dict(shape)})
            pool.queue.append(task)
            if not touched or touched[-1] is not pool:
                touched.append(pool)
        for pool in touched:
            self._balance(pool)
        if self.is_shut:
            self._end_if_done()

    def _end_if_done(self) -> None:
        if self._cancels:
            for feed in list(self._feeds):
                feed.stop()
            for pool in self._pools.values():
                while pool.queue:
                    task = pool.queue.popleft()
                    task.future.cancel()
                    task.future.set_running_or_notify_cancel()
        for pool in self._pools.values():
            pool.drop_cancelled()
        is_done = not any(pool.queue for pool in self._pools.values()) and not any(w.task for w in self._workers.values())
        if is_done and not self._feeds and not self._inbox and not self._is_ending:
            self._is_ending = True
            self._spawn(self._end())

    async def _end(self) -> None:
        try:
            for worker in self._workers.values():
                worker.stop()
            await self._cancel([worker for worker in self._workers.values() if not worker.has_connected])
            for _ in range(2):
                while any(pool.asked for pool in self._pools.values()):
                    await asyncio.sleep(_LOOK_EVERY)
                if self._workers:
                    ends = [worker.job.wait() for worker in self._workers.values()]
                    await self._quietly(asyncio.gather(*ends, return_exceptions=True))
                    await self._cancel([worker for worker in self._workers.values() if not worker.job.done])
            for server in self._servers:
                server.close()
            for worker in list(self._workers.values()):
                if worker.line is not None:
                    worker.line.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            if self.on_end is not None:
                await self._quietly(self.on_end())
        finally:
            self.ended.set_result(None)

    async def _cancel(self, workers: List[Worker]) -> None:
        if workers:
            await self._quietly(self._instance.cancel([worker.job for worker in workers], reason="the executor was shut down"))

    async def _quietly(self, work: Any) -> None:
        try:
            await asyncio.wait_for(work, _STOPS_WITHIN)
        except (HolonError, asyncio.TimeoutError):
            pass  # the broker is away; workers end when their connection does

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # ---- calls ----

    def _balance(self, pool: Pool) -> None:
        while pool.queue and pool.idle:
            task = pool.queue.popleft()
            if task.begin():
                pool.idle.pop().run(task)
        missing = len(pool.queue) - pool.asked - pool.starting
        if missing <= 0 or self.broken is not None:
            return
        total = len(self._workers) + sum(p.asked for p in self._pools.values())
        room = self._settings.max_workers - total
        if room <= 0:
            self._let_go(pool, missing)
        elif not self._is_ending:
            self._spawn(self._start(pool, min(missing, room)))

    def _let_go(self, pool: Pool, most: int) -> None:
        """Ends idle workers of other shapes, whose place or resources `pool` needs."""
        for other in self._pools.values():
            while other is not pool and other.idle and most > 0:
                other.idle.pop(0).stop()
                most -= 1

    def _on_frame(self, worker: Worker, kind: int, number: int, body: bytes) -> None:
        if kind in (channel.RESULT, channel.RAISED):
            task, worker.task = worker.task, None
            if task is not None and number == worker.number:
                # The next call goes out first: the worker runs it while this thread looks at the answer.
                if not worker.is_leaving:
                    self._on_free(worker)
                task.finish(kind, body)
                del task
            if self.is_shut:
                self._end_if_done()
        elif kind == channel.READY:
            worker.is_ready = True
            worker.pool.starting -= 1
            worker.pool.failed_starts = 0
            worker.ready_since = self._loop.time()
            if not worker.is_leaving:
                self._on_free(worker)
            if self.is_shut:
                self._end_if_done()
        elif kind == channel.INIT_FAILED:
            worker.trouble = body.decode("utf-8", "replace")
            self._break(concurrent.futures.BrokenExecutor("the initializer of a worker failed:\n" + worker.trouble))

    def _on_free(self, worker: Worker) -> None:
        pool = worker.pool
        if pool.limit and self._loop.time() - worker.ready_since > pool.limit / 2:
            worker.stop()  # what is left of its time may be too short for the next call
            return
        while pool.queue:
            task = pool.queue.popleft()
            if task.begin():
                worker.run(task)
                return
        worker.idle_since = self._loop.time()
        pool.idle.append(worker)
        for other in self._pools.values():
            if other is not pool and other.queue:
                self._balance(other)

    def _break(self, error: BaseException) -> None:
        """Nothing will work any more."""
        with self._lock:
            self.broken = self.broken or error
        for pool in self._pools.values():
            pool.fail(error)
        for worker in self._workers.values():
            worker.stop()
        if self.is_shut:
            self._end_if_done()

    # ---- workers ----

    def _spec(self, pool: Pool) -> Spec:
        options = dict(pool.options)
        here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        given = dict(options.pop("env", None) or {})
        path = given.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        env = {**given, "PYTHONPATH": here + (os.pathsep + path if path else ""), "HOLON_WORKER_AT": " ".join(self._addresses),
               "HOLON_WORKER_SECRET": self._secret.hex()}
        options.setdefault("name", "worker")
        return Spec([self._settings.python, "-m", "holon.worker"], env=env, **options)

    async def _start(self, pool: Pool, count: int) -> None:
        pool.asked += count
        try:
            jobs = await self._instance.submit_many(self._spec(pool), count)
        except Exception as error:
            pool.fail(error)
            jobs = []
        pool.asked -= count
        for job in jobs:
            worker = Worker(job, pool)
            worker.asked_at = self._loop.time()
            self._workers[job.id] = worker
            pool.starting += 1
            self._spawn(self._follow(worker))
            line = self._early.pop(job.id, None)
            if line is not None:
                self._connect(worker, line)
            elif self._is_ending:
                worker.is_leaving = True
                await self._quietly(job.cancel("the executor was shut down"))
        if self.is_shut:
            self._end_if_done()

    def _on_hello(self, line: Line, who: Dict[str, Any]) -> None:
        worker = self._workers.get(int(who["job"]))
        if worker is None:
            self._early[int(who["job"])] = line
        else:
            self._connect(worker, line)

    def _connect(self, worker: Worker, line: Line) -> None:
        if worker.is_leaving or self._is_ending:
            line.send(channel.frame(channel.STOP))
            worker.has_connected = True
            worker.line = line
            return
        if worker.is_ready:  # the job was requeued: this is its next attempt
            worker.is_ready = False
            worker.pool.starting += 1
            if worker.task is not None:
                self._again_or_never(worker, worker.task, "its job was started again", None)
        worker.has_connected = True
        worker.line = line
        line.on_frame = functools.partial(self._on_frame, worker)
        line.on_lost = functools.partial(self._on_lost, worker, line)
        line.send(channel.frame(channel.INIT, body=pickle.dumps((list(sys.path), self._settings.initializer))))

    def _on_lost(self, worker: Worker, line: Line) -> None:
        """The broker knows how it ended, and says so in a moment; if it is away itself, nobody waits for it."""
        if worker.line is not line:
            return
        worker.line = None
        if worker in worker.pool.idle:
            worker.pool.idle.remove(worker)
        self._loop.call_later(_END_IS_TOLD, self._on_gone, worker)

    def _on_gone(self, worker: Worker) -> None:
        if worker.line is None:
            self._on_end(worker, None, "its connection was lost")

    async def _follow(self, worker: Worker) -> None:
        record: Optional[JobRecord] = None
        why = ""
        try:
            record = await worker.job.wait()
        except HolonError as error:
            why = str(error)
        output = b""
        if record is not None and not worker.is_ready and not worker.is_leaving:
            try:
                output = b"".join(await asyncio.wait_for(worker.job.outputs(), _END_IS_TOLD))
            except (HolonError, asyncio.TimeoutError):
                pass
        self._on_end(worker, record, why, output[-2000:].decode("utf-8", "replace"))

    def _on_end(self, worker: Worker, record: Optional[JobRecord], why: str, output: str = "") -> None:
        if self._workers.get(worker.job.id) is not worker:
            return
        if record is None and worker.line is not None:
            return  # the instance has ended and the worker has not: the connection will tell
        del self._workers[worker.job.id]
        pool = worker.pool
        if worker.line is not None:
            worker.line.on_lost = lambda: None
            worker.line.close()
        if worker in pool.idle:
            pool.idle.remove(worker)
        if not worker.is_ready:
            pool.starting -= 1
        how = _how_it_ended(record) or why
        if worker.task is not None:
            self._again_or_never(worker, worker.task, how, record)
        elif not worker.is_ready and not worker.is_leaving:
            pool.failed_starts += 1
            if pool.failed_starts >= _STARTS or record is None:
                pool.failed_starts = 0
                pool.fail(concurrent.futures.BrokenExecutor("workers end before they can do anything: %s\n%s" % (how, output)))
        self._balance(pool)
        for other in self._pools.values():
            if other.queue and other is not pool:
                self._balance(other)
        if self.is_shut:
            self._end_if_done()

    def _again_or_never(self, worker: Worker, task: Task, how: str, record: Optional[JobRecord]) -> None:
        worker.task = None
        if task.retries > 0 and self.broken is None:
            task.retries -= 1
            worker.pool.queue.appendleft(task)
            return
        job = record.path if record is not None and record.path else "/%d" % worker.job.id
        task.fail(WorkerLost("the worker of this call (job %s) ended before it answered: %s" % (job, how), job))

    def _look(self) -> None:
        """Now and then: who has been idle for too long, or holds what others wait for?"""
        if self.ended.done():
            return
        now = self._loop.time()
        for pool in self._pools.values():
            if pool.queue and not pool.idle and pool.starting:
                self._let_go(pool, pool.starting)
            while pool.idle and now - pool.idle[0].idle_since > self._settings.idle_timeout:
                pool.idle.pop(0).stop()
        self._loop.call_later(_LOOK_EVERY, self._look)


def _how_it_ended(record: Optional[JobRecord]) -> str:
    if record is None:
        return ""
    how = record.result
    if record.exit_code > 128:
        how += ", ended by signal %d" % (record.exit_code - 128)
    elif record.exit_code >= 0:
        how += ", exit code %d" % record.exit_code
    return how + (": " + record.reason if record.reason else "")


