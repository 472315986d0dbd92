"""What executor and workers say to each other: frames of (kind, number, body), after each has proved that it knows the
executor's secret. A body is unpickled, and so runs code: nothing is read before the proof.

Proof: the executor sends 32 random bytes; the worker answers with 32 of its own and HMAC-SHA256 over both; the executor
answers with another HMAC over both. A worker on another node is reached over tcp: what travels then is neither
encrypted nor signed beyond this.
"""
from __future__ import annotations

import hmac
import struct
from typing import Iterator, Tuple

HEADER = struct.Struct(">BQQ")  # kind, number, bytes of the body
(
    HELLO,  # worker: who it is, as JSON
    INIT,  # executor: a pickled Init
    READY,  # worker: the initializer has run
    INIT_FAILED,  # worker: the text of a traceback
    FUNCTION,  # executor: a pickled function, known by `number` from now on
    CALL,  # executor: task `number`; the function's number and pickled arguments
    CALL_MANY,  # executor: the same with a list of arguments
    RESULT,  # worker: of task `number`
    RAISED,  # worker: a pickled exception of task `number`
    STOP,  # executor: there is no more
) = range(1, 11)
NONCE = 32
PROOF = 32
FUNCTION_NUMBER = struct.Struct(">Q")

Frame = Tuple[int, int, bytes]


def frame(kind: int, number: int = 0, body: bytes = b"") -> bytes:
    """The bytes of a frame."""
    return HEADER.pack(kind, number, len(body)) + body


def proof(secret: bytes, who: bytes, theirs: bytes, ours: bytes) -> bytes:
    """What proves that `who` ("worker", "executor") knows the secret."""
    return hmac.new(secret, who + theirs + ours, "sha256").digest()


class Frames:
    """Cuts bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete now."""
        self._buffer += data
        at = 0
        try:
            while len(self._buffer) - at >= HEADER.size:
                kind, number, size = HEADER.unpack_from(self._buffer, at)
                begin = at + HEADER.size
                if len(self._buffer) - begin < size:
                    return
                at = begin + size
                yield kind, number, bytes(memoryview(self._buffer)[begin:at])
        finally:
            if at:
                del self._buffer[:at]
