"""The calls of a map(): a few of them on their way, and more as these end. A future takes a kilobyte; 100,000 are not made at once."""
from __future__ import annotations

import concurrent.futures
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Iterator, List, Optional, Tuple

from .. import _channel as channel
from .. import _pickling as pickling
from .tasks import Task

if TYPE_CHECKING:
    from .dispatcher import Dispatcher

Future = concurrent.futures.Future


class Feed:
    """`chunks`: the arguments of calls. Where the feed goes on by itself they come from a list: they are taken in the loop's thread."""

    def __init__(self, dispatcher: "Dispatcher", shape: "Tuple[Tuple[str, Any], ...]", function: bytes, retries: int,
                 chunks: Iterator[List[Tuple[Any, ...]]]) -> None:
        self._dispatcher = dispatcher
        self._shape = shape
        self._function = function
        self._retries = retries
        self._chunks = chunks
        self._lock = threading.RLock()
        self._begun: "Deque[Future[Any]]" = deque()
        self._goes_on = False
        self._is_over = False  # nothing more will begin

    def begin(self, ahead: int, goes_on: bool) -> None:
        """Begins so many chunks; `goes_on`: and another one as each of them ends. Errors: RuntimeError (after shutdown),
        BrokenExecutor, what pickling raises."""
        self._goes_on = goes_on
        self._dispatcher.begin_feed(self)
        for _ in range(ahead):
            if not self._next():
                return

    def take(self) -> "Optional[Future[Any]]":
        """The future of the next chunk; None: there are no more."""
        with self._lock:
            if not self._goes_on or not self._begun:
                self._next()
            return self._begun.popleft() if self._begun else None

    def stop(self) -> None:
        """Nothing more begins, and what waits for a worker is cancelled. Who takes a future of it nevertheless is told so."""
        with self._lock:
            if not self._is_over:
                self._end()
                self._begun.append(Future())  # of all that will not begin
            begun = list(self._begun)
        for future in begun:
            future.cancel()

    def _next(self) -> bool:
        with self._lock:
            if self._is_over:
                return False
            chunk = next(self._chunks, None)
            if chunk is None:
                self._end()
                return False
            task = Task(self._function, b"", channel.CALL_MANY, self._retries)
            self._begun.append(task.future)
            try:
                task.arguments = pickling.dumps_chunk(chunk)
                self._dispatcher.add(self._shape, task, self)
            except Exception as error:
                self._end()
                task.fail(error)
                return False
        if self._goes_on:
            task.future.add_done_callback(self._on_done)
        return True

    def _on_done(self, done: "Future[Any]") -> None:
        self._next()

    def _end(self) -> None:
        self._is_over = True
        self._dispatcher.end_feed(self)
