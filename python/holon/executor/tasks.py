"""Calls that wait for a worker, and how they end."""
from __future__ import annotations

import concurrent.futures
from typing import Any, Optional

from .. import _channel as channel
from .. import _pickling as pickling


class WorkerLost(concurrent.futures.BrokenExecutor):
    """The worker of this call ended before it answered: it was killed, ran out of memory or time, or its node was lost. The
    executor goes on. `job`: the path of the worker's job, whose record and output say more."""

    def __init__(self, what: str, job: str = "") -> None:
        super().__init__(what)
        self.job = job


class _Told(Exception):
    """The text of a traceback in a worker, as the cause of an exception here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text


class Task:
    """A call: its future, and what is sent to a worker."""

    __slots__ = ("future", "function", "arguments", "kind", "retries", "is_begun")

    def __init__(self, function: bytes, arguments: bytes, kind: int, retries: int) -> None:
        self.future: "concurrent.futures.Future[Any]" = concurrent.futures.Future()
        self.function = function
        self.arguments = arguments
        self.kind = kind
        self.retries = retries  # so many workers may still be lost
        self.is_begun = False

    def begin(self) -> bool:
        """False: it was cancelled, and is not to be sent."""
        if not self.is_begun:
            self.is_begun = self.future.set_running_or_notify_cancel()
        return self.is_begun

    def finish(self, kind: int, body: bytes) -> None:
        """Takes a worker's answer."""
        error: Optional[BaseException] = None
        value: Any = None
        try:
            answer = pickling.loads(body)
            if kind == channel.RAISED:
                told, text = answer
                told.__cause__ = _Told('\n"""\n%s"""' % text)
                error = told
            else:
                value = answer
        except BaseException as problem:
            error = problem
        if error is not None:
            self.fail(error)
        else:
            self.future.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Ends it with an exception, unless it was cancelled."""
        if self.begin():
            self.future.set_exception(error)
