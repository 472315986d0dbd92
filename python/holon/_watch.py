"""Who waits for jobs: one stream of ends for all of them, however many, over restarts of the broker.

A job that somebody waits for is registered first and looked up then, many in one request: it may have ended before. From
there on the stream tells. Where the stream cannot go on from its cursor, all that wait are looked up again. Tasks of
arrays have no events; a second stream brings their records.
"""
from __future__ import annotations

import asyncio
from typing import Any, Coroutine, Dict, List, Optional, Set

from ._wire.link import LOOK_AGAIN, Link
from .errors import Disconnected, HolonError, NotFound
from .messages import EventsPart, EventsRequest, JobRecord, JobsReply, JobsRequest

_ENDS = ["clean", "invalidate"]
_IDS_AT_ONCE = 5_000

Waiting = Dict[int, "asyncio.Future[JobRecord]"]


class Watch:
    """Of one instance. REQUIRES: used in one event loop."""

    def __init__(self, link: Link, path: str) -> None:
        self._link = link
        self._path = path
        self._jobs: Waiting = {}
        self._tasks: Waiting = {}  # of arrays
        self._followed: Set[int] = set()  # tasks that the stream there is tells of
        self._unchecked: Set[int] = set()
        self._cursor = ""
        self._stands: Optional[asyncio.Event] = None  # the stream has begun
        self._work: Dict[str, "asyncio.Task[None]"] = {}

    def end_of(self, number: int, is_task: bool = False) -> "asyncio.Future[JobRecord]":
        """The record of a job once it is INACTIVE. All who wait for a job have the same future: shield it."""
        waiting = self._tasks if is_task else self._jobs
        future = waiting.get(number)
        if future is None:
            future = waiting[number] = asyncio.get_running_loop().create_future()
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
            if is_task:
                self._begin("tasks", self._follow_tasks)
            else:
                self._unchecked.add(number)
                self._begin("stream", self._follow)
                self._begin("check", self._check)
        return future

    def close(self) -> None:
        """Nobody waits any more."""
        for task in self._work.values():
            task.cancel()
        self._fail(Disconnected("the connection was closed"))

    def _begin(self, name: str, work: Any) -> None:
        task = self._work.get(name)
        if task is None or task.done():
            self._work[name] = asyncio.get_running_loop().create_task(self._guarded(work()))

    async def _guarded(self, work: "Coroutine[Any, Any, None]") -> None:
        try:
            await work
        except HolonError as error:
            self._fail(error)

    def _fail(self, why: HolonError) -> None:
        for waiting in (self._jobs, self._tasks):
            for future in waiting.values():
                if not future.done():
                    future.set_exception(why)
            waiting.clear()
        self._unchecked.clear()

    def _take(self, record: JobRecord) -> None:
        if record.state != "INACTIVE":
            return
        for waiting in (self._jobs, self._tasks):
            future = waiting.pop(record.id, None)
            if future is not None and not future.done():
                future.set_result(record)

    # ---- jobs ----

    async def _follow(self) -> None:
        if self._stands is None:
            self._stands = asyncio.Event()
        while True:
            try:
                request = EventsRequest(cursor=self._cursor, bare=True, records=True, names=_ENDS)
                async for part in self._link.stream("events", request, EventsPart, self._path):
                    self._on_part(part)
            except Disconnected:
                await asyncio.sleep(LOOK_AGAIN)
                await self._link.session()  # fails when the instance has ended
            except NotFound:
                # An instance below that has ended: what it left says how its jobs ended.
                self._stands.set()
                self._unchecked |= set(self._jobs)
                await self._check(is_last=True)
                self._stands = None
                return

    def _on_part(self, part: EventsPart) -> None:
        if part.anew and self._cursor:
            self._unchecked |= set(self._jobs)
            self._begin("check", self._check)
        self._cursor = part.cursor or self._cursor
        if self._stands is not None:
            self._stands.set()
        for record in part.jobs:
            self._take(record)

    async def _check(self, is_last: bool = False) -> None:
        await asyncio.sleep(0)  # those that others register in this turn of the loop go along
        if self._stands is None:
            self._stands = asyncio.Event()
        await self._stands.wait()
        while self._unchecked:
            ids = sorted(self._unchecked)[:_IDS_AT_ONCE]
            self._unchecked.difference_update(ids)
            found = await self._look_up(ids)
            for number in ids:
                future = self._jobs.get(number)
                if future is not None and not future.done() and (number not in found or is_last):
                    del self._jobs[number]
                    future.set_exception(NotFound("job %d: there is no such job in this instance" % number))

    async def _look_up(self, ids: List[int]) -> Set[int]:
        found: Set[int] = set()
        request = JobsRequest(all=True, ids=ids)
        while True:
            try:
                page = await self._link.call_over_restarts("jobs", request, JobsReply, self._path, self._link.patience.bulk)
            except NotFound:
                return found
            for record in page.jobs:
                found.add(record.id)
                self._take(record)
            if not page.next:
                return found
            request.after = page.next

    # ---- tasks of arrays ----

    async def _follow_tasks(self) -> None:
        """The stream has the tasks of its request: when there are others to follow, the next one is asked for."""
        while self._tasks:
            await asyncio.sleep(0)
            self._followed = set(self._tasks)
            request = EventsRequest(bare=True, names=["clean"], arrays=sorted(self._followed))
            try:
                async for part in self._link.stream("events", request, EventsPart, self._path):
                    for record in part.jobs:
                        self._take(record)
                    if not self._tasks or not self._followed.issuperset(self._tasks):
                        break
            except Disconnected:
                await asyncio.sleep(LOOK_AGAIN)
                await self._link.session()
