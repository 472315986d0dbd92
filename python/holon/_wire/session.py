"""One connection to a broker: hello, heartbeats, calls and streams. It lives once; link.py makes the next one.

What the server believes of us is what our heartbeats confirm: the bytes of all messages received since our hello, and,
over tcp, the marks that it puts into heartbeats of its own.
"""
from __future__ import annotations

import asyncio
import os
import random
from typing import Any, AsyncIterator, Callable, Dict, Optional, Union

from ..errors import Busy, Disconnected, HolonError, ProtocolError
from . import msgpack
from .envelope import (BYE, CANCEL, CHUNK, END, ERROR, HEARTBEAT, HELLO, REQUEST, RESPONSE, WELCOME, Envelope, decode,
                       decode_error, encode)

HEARTBEAT_EVERY = 1.0  # s without anything sent
PEER_TIMEOUT = 20.0  # s of silence after which the other side is given up
CONFIRM_AFTER = 1 << 20  # bytes received
MAX_MESSAGE = 64 << 20  # bytes that we take

Answer = Union[bytes, HolonError, None]  # None: the end of a stream


class Session:
    """The state behind one connection. REQUIRES: all of it is used in the loop it was made in."""

    def __init__(self, send: Callable[[bytes], None], close: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._send_bytes = send
        self._close_line = close
        self._next_id = 0
        self._calls: Dict[int, Callable[[int, Answer], None]] = {}
        self._received = 0
        self._confirmed = 0
        self._heard = self._sent = self._loop.time()
        self._ticks: Optional[asyncio.TimerHandle] = None
        self._hello_id = random.getrandbits(32) | 1
        self.welcomed: "asyncio.Future[Dict[str, Any]]" = self._loop.create_future()
        self.lost: "asyncio.Future[HolonError]" = self._loop.create_future()
        self.most_sent = MAX_MESSAGE  # bytes of a message that the broker takes

    # ---- the line's side ----

    def begin(self) -> None:
        """Says hello; the line is there."""
        greeting = {"name": "python", "pid": os.getpid(), "incarnation": random.getrandbits(63), "max_message": MAX_MESSAGE}
        self._send(Envelope(HELLO, self._hello_id, payload=msgpack.pack(greeting)))
        self._ticks = self._loop.call_later(HEARTBEAT_EVERY / 2, self._tick)

    def on_message(self, data: bytes) -> None:
        """Deals with a message that the line has brought."""
        self._heard = self._loop.time()
        self._received += len(data)
        try:
            envelope = decode(data)
        except ValueError as error:
            self.lose(ProtocolError("the broker sent what cannot be understood: %s" % error))
            return
        self._take(envelope)
        if self._received - self._confirmed >= CONFIRM_AFTER:
            self._confirm()

    def lose(self, why: HolonError) -> None:
        """Ends the session: all calls fail with `why`. Nothing happens when it has ended before."""
        if self.lost.done():
            return
        self.lost.set_result(why)
        if self._ticks is not None:
            self._ticks.cancel()
        if not self.welcomed.done():
            self.welcomed.set_exception(why)
        calls, self._calls = self._calls, {}
        for answer in calls.values():
            answer(ERROR, why)
        self._close_line()

    def close(self) -> None:
        """Says bye, and ends the session."""
        if not self.lost.done():
            self._send(Envelope(BYE))
        self.lose(Disconnected("the connection was closed"))

    @property
    def is_open(self) -> bool:
        """Is the broker there, as far as is known?"""
        return self.welcomed.done() and not self.lost.done()

    # ---- the caller's side ----

    def call(self, topic: str, payload: bytes, path: str = "") -> "asyncio.Future[bytes]":
        """Asks for one answer. A future that is cancelled tells the broker so."""
        future: "asyncio.Future[bytes]" = self._loop.create_future()

        def take(kind: int, answer: Answer) -> None:
            if future.done():
                return
            if isinstance(answer, HolonError):
                future.set_exception(answer)
            elif kind == RESPONSE and answer is not None:
                future.set_result(answer)
            else:
                future.set_exception(ProtocolError("a stream came where one answer was asked for", topic))

        number = self._ask(topic, payload, path, take)
        future.add_done_callback(lambda done: self._drop(number) if done.cancelled() else None)
        return future

    async def stream(self, topic: str, payload: bytes, path: str = "") -> AsyncIterator[bytes]:
        """Asks for any number of answers. Whoever leaves early closes the iterator (aclose)."""
        queue: "asyncio.Queue[Answer]" = asyncio.Queue()

        def take(kind: int, answer: Answer) -> None:
            queue.put_nowait(answer)
            if kind == RESPONSE:
                queue.put_nowait(None)

        number = self._ask(topic, payload, path, take)
        try:
            while True:
                answer = await queue.get()
                if answer is None:
                    return
                if isinstance(answer, HolonError):
                    raise answer
                yield answer
        finally:
            self._drop(number)

    # ---- inside ----

    def _ask(self, topic: str, payload: bytes, path: str, take: Callable[[int, Answer], None]) -> int:
        self._next_id += 1
        number = self._next_id
        if self.lost.done():
            self._loop.call_soon(take, ERROR, self.lost.result())
            return number
        self._calls[number] = take
        self._send(Envelope(REQUEST, number, topic, path, payload))
        return number

    def _drop(self, number: int) -> None:
        if self._calls.pop(number, None) is not None and not self.lost.done():
            self._send(Envelope(CANCEL, number))

    def _take(self, envelope: Envelope) -> None:
        kind = envelope.kind
        if kind == HEARTBEAT:
            if envelope.payload:  # a mark, which goes back at once
                self._confirm(envelope.payload)
        elif kind == WELCOME:
            self._on_welcome(envelope)
        elif kind == BYE:
            self._send(Envelope(BYE))
            why = ": " + decode_error(envelope.payload).what if envelope.payload else ""
            self.lose(Disconnected("the broker does not know this connection any more" + why))
        elif kind == ERROR and not self.is_open:
            told = decode_error(envelope.payload)
            self.lose(Busy(told.what) if told.code == "busy" else told)
        elif kind in (RESPONSE, ERROR, CHUNK, END):
            self._on_answer(envelope)
        elif kind == REQUEST and envelope.id:
            refusal = {"code": "unsupported", "what": "a client in Python answers nothing", "where": ""}
            self._send(Envelope(ERROR, envelope.id, payload=msgpack.pack(refusal)))

    def _on_welcome(self, envelope: Envelope) -> None:
        if envelope.id != self._hello_id or self.welcomed.done():
            return
        try:
            greeting = msgpack.unpack(envelope.payload)
            self.most_sent = int(greeting.get("max_message", 0)) or MAX_MESSAGE
        except (ValueError, TypeError, AttributeError):
            self.lose(ProtocolError("the broker's greeting cannot be understood"))
            return
        self.welcomed.set_result(greeting)

    def _on_answer(self, envelope: Envelope) -> None:
        is_last = envelope.kind != CHUNK
        take = self._calls.pop(envelope.id, None) if is_last else self._calls.get(envelope.id)
        if take is None:
            return  # cancelled meanwhile
        if envelope.kind == ERROR:
            take(ERROR, decode_error(envelope.payload))
        else:
            take(envelope.kind, None if envelope.kind == END else envelope.payload)

    def _send(self, envelope: Envelope) -> None:
        self._sent = self._loop.time()
        self._send_bytes(encode(envelope))

    def _confirm(self, mark: bytes = b"") -> None:
        self._confirmed = self._received
        self._send(Envelope(HEARTBEAT, self._received, payload=mark))

    def _tick(self) -> None:
        now = self._loop.time()
        if now - self._heard > PEER_TIMEOUT:
            self.lose(Disconnected("nothing was heard of the broker for %d s" % PEER_TIMEOUT))
            return
        if now - self._sent >= HEARTBEAT_EVERY / 2:
            self._confirm()
        self._ticks = self._loop.call_later(HEARTBEAT_EVERY / 2, self._tick)
