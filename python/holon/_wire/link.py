"""A connection to an instance that outlives its broker: what was lost is made again, and asked again where that is safe."""
from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, AsyncIterator, Optional, Type, TypeVar

from ..errors import Busy, Disconnected, HolonError, OutOfRange, ProtocolError, TimedOut
from . import codec, find
from .lines import open_session
from .session import Session

T = TypeVar("T")
LOOK_AGAIN = 0.05  # s
MADE_AGAIN = 1.5  # s in which a supervisor makes a folder again that somebody has removed


@dataclass(frozen=True)
class Patience:
    """Times that a client waits, in s. connect: until an instance that is there has answered for the first time;
    answer: for what takes the instance no time to speak of; bulk: for what may take long (a million jobs); restart: for
    a broker that is being started again."""

    connect: float = 5.0
    answer: float = 30.0
    bulk: float = 600.0
    restart: float = 30.0


class Link:
    """REQUIRES: used in one event loop."""

    def __init__(self, uri: str, patience: Patience) -> None:
        self.uri = find.uri_of(uri)
        self.patience = patience
        self._session: Optional[Session] = None
        self._making: "Optional[asyncio.Task[Session]]" = None
        self._is_closed = False

    async def session(self) -> Session:
        """The session there is, or the next one. Errors: Disconnected (the instance has ended, or no connection for
        Patience.restart)."""
        if self._is_closed:
            raise Disconnected("the connection was closed", self.uri)
        if self._session is not None and self._session.is_open:
            return self._session
        if self._making is None or self._making.done():
            self._making = asyncio.get_running_loop().create_task(self._make())
            self._making.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._making)

    async def _make(self) -> Session:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            try:
                self._session = await open_session(self.uri, self.patience.connect)
                return self._session
            except (Disconnected, Busy) as error:
                waited = loop.time() - began
                is_over = not find.may_come_back(self.uri) and (self._session is None or waited > MADE_AGAIN)
                if is_over and self._session is not None:
                    raise Disconnected("the instance has ended", self.uri) from None
                if is_over or waited > self.patience.restart:
                    raise
                if self._session is None and "no answer within" in error.what:
                    raise  # it is there and stopped; a broker that is started again answers at once
                await asyncio.sleep(0.5 if isinstance(error, Busy) else LOOK_AGAIN)

    def close(self) -> None:
        """Ends the connection."""
        self._is_closed = True
        if self._making is not None:
            self._making.cancel()
        if self._session is not None:
            self._session.close()

    async def call(self, topic: str, message: Any, kind: Type[T], path: str = "", timeout: Optional[float] = -1) -> T:
        """One request; `timeout` in s, negative: Patience.answer, None: for as long as it takes. Errors: those of
        session(), TimedOut, and what the broker answers; after Disconnected it may have been carried out."""
        payload = codec.pack(message)
        session = await self.session()
        if len(payload) + len(topic) + len(path) + 40 > session.most_sent:
            raise OutOfRange("the request has %d bytes, the broker takes %d" % (len(payload), session.most_sent), topic)
        limit = self.patience.answer if timeout is not None and timeout < 0 else timeout
        future = session.call(topic, payload, path)
        if limit is None:
            answer = await future
        else:
            try:
                answer = await asyncio.wait_for(future, limit)
            except asyncio.TimeoutError:
                raise TimedOut("no answer within %g s" % limit, topic) from None
        return _read(kind, answer, topic)

    async def call_over_restarts(self, topic: str, message: Any, kind: Type[T], path: str = "",
                                 timeout: Optional[float] = -1, patience: Optional[float] = None) -> T:
        """A request that may be sent again, because it changes nothing or has a key. `patience`: s after the first loss
        of the connection; None: until the instance has ended."""
        loop = asyncio.get_running_loop()
        first_loss: Optional[float] = None
        while True:
            try:
                return await self.call(topic, message, kind, path, timeout)
            except Disconnected:
                now = loop.time()
                first_loss = now if first_loss is None else first_loss
                if patience is not None and now - first_loss > patience:
                    raise
            except Busy:
                now = loop.time()
                first_loss = now if first_loss is None else first_loss
                if now - first_loss > self.patience.restart:
                    raise
            await asyncio.sleep(LOOK_AGAIN)
            await self.session()  # fails when the instance has ended

    async def stream(self, topic: str, message: Any, kind: Type[T], path: str = "") -> AsyncIterator[T]:
        """A stream over one connection. Errors: those of call(), but for TimedOut."""
        session = await self.session()
        parts = session.stream(topic, codec.pack(message), path)
        try:
            async for payload in parts:
                yield _read(kind, payload, topic)
        finally:
            await parts.aclose()  # type: ignore[attr-defined]


def _read(kind: Type[T], payload: bytes, topic: str) -> T:
    try:
        return codec.unpack(kind, payload)
    except (ValueError, TypeError, KeyError) as error:
        raise ProtocolError("the answer cannot be understood: %s" % error, topic) from None


__all__ = ["HolonError", "Link", "Patience"]
