"""ZMTP 3 (https://rfc.zeromq.org/spec/23) with the mechanism NULL, the side that connects: bytes in, messages out."""
from __future__ import annotations

import struct
from typing import List

GREETING = b"\xff" + b"\0" * 8 + b"\x7f" + b"\x03\0" + b"NULL".ljust(20, b"\0") + b"\0" * 32
MAX_MESSAGE = 64 << 20
_MORE, _LONG, _COMMAND = 1, 2, 4


def _property(name: bytes, value: bytes) -> bytes:
    return bytes((len(name),)) + name + struct.pack(">I", len(value)) + value


def command(name: bytes, data: bytes) -> bytes:
    """A short command's frame."""
    body = bytes((len(name),)) + name + data
    return bytes((_COMMAND, len(body))) + body


# A client says both at once; it has nothing to choose.
OPENING = GREETING + command(b"READY", _property(b"Socket-Type", b"DEALER") + _property(b"Identity", b""))


def frame(message: bytes) -> bytes:
    """A message of one frame."""
    if len(message) > 255:
        return struct.pack(">BQ", _LONG, len(message)) + message
    return bytes((0, len(message))) + message


class Framer:
    """Cuts what arrives into messages. `answers`: bytes that are to be sent back (pongs)."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._greeted = False
        self.is_ready = False  # the handshake is complete
        self._in_parts = False
        self.answers: List[bytes] = []

    def feed(self, data: bytes) -> List[bytes]:
        """The messages that are complete now. Errors: ValueError (this is no ZMTP 3 with NULL)."""
        self._buffer += data
        if not self._greeted and not self._greet():
            return []
        messages: List[bytes] = []
        at = 0
        buffer = self._buffer
        while True:
            if len(buffer) - at < 2:
                break
            flags = buffer[at]
            if flags > (_MORE | _LONG | _COMMAND):
                raise ValueError("no ZMTP frame")
            if flags & _LONG:
                if len(buffer) - at < 9:
                    break
                size, body = struct.unpack_from(">Q", buffer, at + 1)[0], at + 9
            else:
                size, body = buffer[at + 1], at + 2
            if size > MAX_MESSAGE:
                raise ValueError("a frame of %d bytes" % size)
            if len(buffer) - body < size:
                break
            piece = bytes(memoryview(buffer)[body:body + size])
            at = body + size
            if flags & _COMMAND:
                self._command(piece)
            elif flags & _MORE or self._in_parts:
                self._in_parts = bool(flags & _MORE)  # none of ours has several parts
            else:
                messages.append(piece)
        if at:
            del buffer[:at]
        return messages

    def _greet(self) -> bool:
        if len(self._buffer) < len(GREETING):
            if self._buffer[:1] not in (b"", b"\xff"):
                raise ValueError("what listens there does not speak ZMTP")
            return False
        head = bytes(self._buffer[:len(GREETING)])
        if head[0] != 0xFF or head[9] != 0x7F or head[10] < 3:
            raise ValueError("what listens there does not speak ZMTP 3")
        if head[12:32] != GREETING[12:32]:
            raise ValueError("it asks for the mechanism %s" % head[12:32].rstrip(b"\0").decode("ascii", "replace"))
        del self._buffer[:len(GREETING)]
        self._greeted = True
        return True

    def _command(self, body: bytes) -> None:
        name, data = body[1:1 + body[0]], body[1 + body[0]:]
        if name == b"READY":
            self.is_ready = True
        elif name == b"ERROR":
            raise ValueError("refused: " + data[1:].decode("utf-8", "replace"))
        elif name == b"PING":
            self.answers.append(command(b"PONG", data[2:18]))
