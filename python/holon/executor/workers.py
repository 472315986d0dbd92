"""The executor's side of a worker: its connection, its job, and the pool of those that are alike."""
from __future__ import annotations

import asyncio
import hmac
import json
import os
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Optional, cast

from .. import _channel as channel
from ..jobspec import seconds
from .tasks import Task

if TYPE_CHECKING:
    from .._jobs import AsyncJob

_PROOF_PATIENCE = 30.0  # s
_FUNCTIONS_KEPT = 128  # as in holon/worker.py


class Line(asyncio.Protocol):
    """One connection. `on_hello(line, who)` once the other side has proved that it is a worker; then `on_frame`, and `on_lost`
    at the end. Of whom has not proved it no more is kept than a proof has bytes."""

    def __init__(self, secret: bytes, on_hello: "Callable[[Line, Dict[str, Any]], None]") -> None:
        self._secret = secret
        self._on_hello = on_hello
        self._nonce = os.urandom(channel.NONCE)
        self._early = b""
        self._is_proved = False
        self._frames = channel.Frames()
        self._transport: Optional[asyncio.Transport] = None
        self._patience: Optional[asyncio.TimerHandle] = None
        self.on_frame: Callable[[int, int, bytes], None] = lambda kind, number, body: None
        self.on_lost: Callable[[], None] = lambda: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._nonce)
        self._patience = asyncio.get_running_loop().call_later(_PROOF_PATIENCE, self.close)

    def data_received(self, data: bytes) -> None:
        if not self._is_proved:
            self._early += data
            wanted = channel.NONCE + channel.PROOF
            if len(self._early) < wanted:
                return
            theirs, shown, data = self._early[:channel.NONCE], self._early[channel.NONCE:wanted], self._early[wanted:]
            if not hmac.compare_digest(shown, channel.proof(self._secret, b"worker", self._nonce, theirs)):
                self.close()
                return
            self._is_proved = True
            self.send(channel.proof(self._secret, b"executor", self._nonce, theirs))
        for kind, number, body in self._frames.feed(data):
            if kind != channel.HELLO:
                self.on_frame(kind, number, body)
                continue
            if self._patience is not None:
                self._patience.cancel()
            self._on_hello(self, json.loads(body))

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._transport = None
        if self._patience is not None:
            self._patience.cancel()
        self.on_lost()

    def send(self, data: bytes) -> None:
        """Bytes for the other side; dropped when it has gone, which on_lost() tells."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Ends the connection, behind what was sent."""
        if self._transport is not None:
            self._transport.close()


class Worker:
    """A job that runs, or will run, calls."""

    def __init__(self, job: "AsyncJob", pool: "Pool") -> None:
        self.job = job
        self.pool = pool
        self.line: Optional[Line] = None
        self.is_ready = False
        self.is_leaving = False  # it was told to stop, or its job was cancelled
        self.has_connected = False
        self.task: Optional[Task] = None
        self.number = 0  # of that task
        self.asked_at = 0.0
        self.idle_since = 0.0
        self.ready_since = 0.0
        self.trouble = ""  # the text of what went wrong in its initializer
        self._known: Dict[bytes, int] = {}  # functions it has, by their bytes
        self._functions = 0

    def run(self, task: Task) -> None:
        """Sends it a call. REQUIRES: it is ready and has none."""
        self.task = task
        self.number += 1
        function = self._known.get(task.function)
        data = b""
        if function is None:
            self._functions += 1
            function = self._known[task.function] = self._functions
            if len(self._known) > _FUNCTIONS_KEPT:
                del self._known[next(iter(self._known))]
            data = channel.frame(channel.FUNCTION, function, task.function)
        assert self.line is not None
        body = channel.FUNCTION_NUMBER.pack(function) + task.arguments
        self.line.send(data + channel.frame(task.kind, self.number, body))

    def stop(self) -> None:
        """Tells it to end once it has done what it does."""
        self.is_leaving = True
        if self.line is not None:
            self.line.send(channel.frame(channel.STOP))


class Pool:
    """Workers whose jobs ask for the same, and the calls that wait for one of them."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self.options = options
        self.queue: Deque[Task] = deque()
        self.idle: List[Worker] = []  # the one used last is used next: the others may end
        limit = options.get("limit")
        self.limit = seconds(limit) if limit is not None else 0.0  # s of a worker's life; 0: none
        self.asked = 0  # workers whose submission is not answered yet
        self.starting = 0  # jobs of which no worker is ready yet
        self.failed_starts = 0  # in a row

    def drop_cancelled(self) -> None:
        """Takes calls out that nobody wants any more."""
        self.queue = deque(task for task in self.queue if not task.future.cancelled() or task.begin())

    def fail(self, error: BaseException) -> None:
        """Ends all calls that wait."""
        while self.queue:
            self.queue.popleft().fail(error)
