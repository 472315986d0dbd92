"""The envelope around a payload: the msgpack array [version, kind, id, topic, path, payload]."""
from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import HolonError, ProtocolError, error_of
from . import msgpack

VERSION = 1
REQUEST, RESPONSE, ERROR, CHUNK, END, CANCEL, HEARTBEAT, HELLO, WELCOME, BYE = range(1, 11)


class Envelope(NamedTuple):
    """One message of the protocol; `path`: the instance meant, "" for the receiver itself."""

    kind: int
    id: int = 0
    topic: str = ""
    path: str = ""
    payload: bytes = b""


def encode(envelope: Envelope) -> bytes:
    """The bytes of one ZeroMQ frame."""
    return msgpack.pack([VERSION, *envelope[:4], bytes(envelope.payload)])


def decode(data: bytes) -> Envelope:
    """The envelope in a frame. Errors: ValueError."""
    places = msgpack.unpack(data)
    if not isinstance(places, list) or len(places) < 6:
        raise ValueError("a message is an array of at least six places")
    version, kind, number, topic, path, payload = places[:6]
    if version != VERSION:
        raise ValueError("protocol version %r is not spoken here, %d is" % (version, VERSION))
    if not (isinstance(kind, int) and isinstance(number, int) and isinstance(topic, str) and isinstance(path, str)
            and isinstance(payload, bytes)):
        raise ValueError("a place of the message has another type than it should")
    return Envelope(kind, number, topic, path, payload)


def decode_error(payload: bytes) -> HolonError:
    """The exception that an error's payload stands for."""
    try:
        told: Any = msgpack.unpack(payload)
        return error_of(str(told["code"]), str(told["what"]), str(told.get("where", "")))
    except (ValueError, TypeError, KeyError, AttributeError):
        return ProtocolError("an error without a readable reason")
