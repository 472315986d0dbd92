"""What carries messages to a broker: ZMTP of our own over a unix socket or tcp, or pyzmq for tcp with CURVE."""
from __future__ import annotations

import asyncio
import importlib
import subprocess
from typing import Any, List, Optional, Tuple, cast

from ..errors import Denied, Disconnected, HolonError, InvalidArgument, Unsupported
from . import codec, zmtp
from .session import Session

ACCEPTED = "accepted are ipc:///DIR/SOCKET, tcp://HOST:PORT?key=KEY and the name of a socket"


class _ZmtpLine(asyncio.Protocol):
    """ZMTP over a stream socket."""

    def __init__(self) -> None:
        self._framer = zmtp.Framer()
        self._transport: Optional[asyncio.Transport] = None
        self._has_begun = False
        self.session = Session(self._send, self._close)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(zmtp.OPENING)

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._framer.feed(data)
        except ValueError as error:
            self.session.lose(Disconnected(str(error)))
            return
        if self._framer.is_ready and not self._has_begun:
            self._has_begun = True
            self.session.begin()
        for message in messages:
            self.session.on_message(message)
        while self._framer.answers and self._transport is not None:
            self._transport.write(self._framer.answers.pop(0))

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._transport = None
        self.session.lose(Disconnected("the broker went away"))

    def _send(self, message: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(zmtp.frame(message))

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class _ZmqLine:
    """A DEALER socket of pyzmq with CURVE keys of its own making."""

    def __init__(self, address: str, server_key: bytes) -> None:
        try:
            zmq: Any = importlib.import_module("zmq")
            importlib.import_module("zmq.asyncio")
            z85 = importlib.import_module("zmq.utils.z85")
        except ImportError:
            raise Unsupported("tcp:// with a key needs the package pyzmq (Debian: python3-zmq)", address) from None
        self._zmq = zmq
        self.public_key, secret_key = zmq.curve_keypair()
        self.server_key = z85.encode(server_key)
        self._socket: Any = zmq.asyncio.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 1000)
        self._socket.setsockopt(zmq.MAXMSGSIZE, zmtp.MAX_MESSAGE)
        self._socket.curve_publickey, self._socket.curve_secretkey = self.public_key, secret_key
        self._socket.curve_serverkey = self.server_key
        self._monitor: Any = self._socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
                                                             | zmq.EVENT_HANDSHAKE_FAILED_AUTH
                                                             | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL)
        self.session = Session(self._send, self._close)
        self._tasks: List["asyncio.Task[None]"] = []
        self._socket.connect(address)
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._read()), loop.create_task(self._watch())]

    async def _read(self) -> None:
        while not self.session.lost.done():
            parts = await self._socket.recv_multipart()
            if len(parts) == 1:
                self.session.on_message(parts[0])

    async def _watch(self) -> None:
        parse_monitor_message = importlib.import_module("zmq.utils.monitor").parse_monitor_message
        while not self.session.lost.done():
            event = parse_monitor_message(await self._monitor.recv_multipart())["event"]
            if event == self._zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self.session.begin()
            elif event == self._zmq.EVENT_DISCONNECTED:
                self.session.lose(Disconnected("the broker went away"))
            else:
                self.session.lose(Denied("the broker has another key than the address says, or refuses ours"))

    def _send(self, message: bytes) -> None:
        try:
            # Without await: the socket has no bound on what waits to be sent, and so is never full.
            self._socket.send(message, self._zmq.DONTWAIT)
        except self._zmq.ZMQError:
            pass  # the monitor tells that the connection has gone

    def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._socket.disable_monitor()
        self._socket.close()


def parse_tcp(uri: str) -> Tuple[str, int, str]:
    """Host, port and key ("": none) of tcp://HOST:PORT?key=KEY. Errors: InvalidArgument."""
    address, _, query = uri[len("tcp://"):].partition("?")
    host, _, port = address.rpartition(":")
    key = query[len("key="):] if query.startswith("key=") else query
    is_key = not key or (len(key) == 64 and all(c in "0123456789abcdefABCDEF" for c in key))
    if not host or not port.isdigit() or not is_key:
        raise InvalidArgument("is no address of an instance; " + ACCEPTED, uri)
    return host.strip("[]"), int(port), key


def _credential(text: str) -> str:
    """MUNGE's word for who we are. Errors: Unsupported."""
    try:
        made = subprocess.run(["munge", "-s", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unsupported("this address asks for MUNGE, which is not here: %s" % error) from None
    if made.returncode != 0:
        raise Unsupported("MUNGE gives no credential: " + made.stderr.decode("utf-8", "replace").strip())
    return made.stdout.decode("ascii").strip()


async def _open_curve(uri: str, host: str, port: int, key: str, patience: float) -> Session:
    line = _ZmqLine("tcp://%s:%d" % (host, port), bytes.fromhex(key))
    session = await _welcomed(line.session, uri, patience)
    from ..messages import Empty, ProveRequest

    text = "holon connection %s %s" % (line.server_key.decode("ascii"), line.public_key.decode("ascii"))
    proof = await asyncio.get_running_loop().run_in_executor(None, _credential, text)
    codec.unpack(Empty, await session.call("user.prove", codec.pack(ProveRequest(credential=proof))))
    return session


async def _welcomed(session: Session, uri: str, patience: float) -> Session:
    try:
        await asyncio.wait_for(asyncio.shield(session.welcomed), patience)
    except asyncio.TimeoutError:
        session.welcomed.cancel()
        session.lose(Disconnected("no answer within %g s" % patience, uri))
        raise Disconnected("no answer within %g s; what listens there is no broker, or is stopped" % patience, uri) from None
    except asyncio.CancelledError:
        session.close()
        raise
    return session


async def open_session(uri: str, patience: float) -> Session:
    """A session that was welcomed, `patience` in s. Errors: InvalidArgument (the address), Disconnected, Busy, Denied,
    Unsupported (of tcp with a key: pyzmq or MUNGE is missing)."""
    loop = asyncio.get_running_loop()
    try:
        if uri.startswith("ipc://"):
            _, line = await loop.create_unix_connection(_ZmtpLine, uri[len("ipc://"):])
        elif uri.startswith("tcp://"):
            host, port, key = parse_tcp(uri)
            if key:
                return await _open_curve(uri, host, port, key, patience)
            _, line = await asyncio.wait_for(loop.create_connection(_ZmtpLine, host, port), patience)
        else:
            raise InvalidArgument("is no address of an instance; " + ACCEPTED, uri)
    except (OSError, asyncio.TimeoutError) as error:
        raise Disconnected("no instance listens there (%s); it has ended, or HOLON_URI is wrong"
                           % (getattr(error, "strerror", None) or "no answer"), uri) from None
    except HolonError:
        raise
    return await _welcomed(line.session, uri, patience)
