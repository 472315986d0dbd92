"""msgpack: the package `msgpack` where it is installed, else the little of it that the protocol needs.

Both sides of the protocol write maps with string keys, arrays, integers, floats, booleans, nil, str and bin. Nothing
else is accepted. A str that holds no text (surrogates, as os.fsdecode makes them) travels as bin.
"""
from __future__ import annotations

import struct
from typing import Any, Callable, List, Tuple, cast

MAX_DEPTH = 256

Pack = Callable[[Any], bytes]
Unpack = Callable[[bytes], Any]


def _pack_into(out: List[bytes], value: Any) -> None:
    if value is None:
        out.append(b"\xc0")
    elif value is True:
        out.append(b"\xc3")
    elif value is False:
        out.append(b"\xc2")
    elif isinstance(value, int):
        out.append(_pack_int(value))
    elif isinstance(value, str):
        data = value.encode("utf-8")
        out += (_head(len(data), 0xA0, 32, (0xD9, 0xDA, 0xDB)), data)
    elif isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        out += (_head(len(data), 0, 0, (0xC4, 0xC5, 0xC6)), data)
    elif isinstance(value, float):
        out.append(struct.pack(">Bd", 0xCB, value))
    elif isinstance(value, dict):
        out.append(_head(len(value), 0x80, 16, (None, 0xDE, 0xDF)))
        for key, mapped in value.items():
            _pack_into(out, key)
            _pack_into(out, mapped)
    elif isinstance(value, (list, tuple)):
        out.append(_head(len(value), 0x90, 16, (None, 0xDC, 0xDD)))
        for element in value:
            _pack_into(out, element)
    else:
        raise TypeError("%s cannot travel" % type(value).__name__)


def _head(size: int, fixed: int, below: int, codes: Tuple[Any, Any, Any]) -> bytes:
    if size < below:
        return bytes((fixed | size,))
    if size < 0x100 and codes[0] is not None:
        return bytes((codes[0], size))
    if size < 0x10000:
        return struct.pack(">BH", codes[1], size)
    return struct.pack(">BI", codes[2], size)


def _pack_int(value: int) -> bytes:
    if 0 <= value < 0x80:
        return bytes((value,))
    if -32 <= value < 0:
        return struct.pack("b", value)
    if value >= 0:
        for code, form, limit in ((0xCC, ">BB", 1 << 8), (0xCD, ">BH", 1 << 16), (0xCE, ">BI", 1 << 32), (0xCF, ">BQ", 1 << 64)):
            if value < limit:
                return struct.pack(form, code, value)
    for code, form, limit in ((0xD0, ">Bb", 1 << 7), (0xD1, ">Bh", 1 << 15), (0xD2, ">Bi", 1 << 31), (0xD3, ">Bq", 1 << 63)):
        if -limit <= value < 0:
            return struct.pack(form, code, value)
    raise OverflowError("%d has more than 64 bits" % value)


def pack_plainly(value: Any) -> bytes:
    """The bytes of a value. Errors: TypeError, OverflowError."""
    out: List[bytes] = []
    _pack_into(out, value)
    return b"".join(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            raise ValueError("the message ends too early")
        piece = self.data[self.at:end]
        self.at = end
        return piece

    def number(self, form: str, size: int) -> Any:
        return struct.unpack(form, self.take(size))[0]

    def text(self, size: int) -> str:
        return self.take(size).decode("utf-8", "surrogateescape")

    def array(self, size: int, depth: int) -> List[Any]:
        if size > len(self.data) - self.at:
            raise ValueError("an array claims more than the message has")
        return [self.value(depth + 1) for _ in range(size)]

    def map(self, size: int, depth: int) -> Any:
        if 2 * size > len(self.data) - self.at:
            raise ValueError("a map claims more than the message has")
        return {self.value(depth + 1): self.value(depth + 1) for _ in range(size)}

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        code = self.take(1)[0]
        if code < 0x80:
            return code
        if code >= 0xE0:
            return code - 0x100
        if code < 0x90:
            return self.map(code & 0x0F, depth)
        if code < 0xA0:
            return self.array(code & 0x0F, depth)
        if code < 0xC0:
            return self.text(code & 0x1F)
        if code in _SIMPLE:
            return _SIMPLE[code]
        if code in _NUMBERS:
            return self.number(*_NUMBERS[code])
        if code not in _SIZED:
            raise ValueError("0x%02x begins nothing that is accepted" % code)
        kind, form, size = _SIZED[code]
        length = int(self.number(form, size))
        if kind == "bin":
            return self.take(length)
        if kind == "str":
            return self.text(length)
        return self.array(length, depth) if kind == "array" else self.map(length, depth)


_SIMPLE = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = {
    0xCA: (">f", 4), 0xCB: (">d", 8), 0xCC: (">B", 1), 0xCD: (">H", 2), 0xCE: (">I", 4), 0xCF: (">Q", 8),
    0xD0: (">b", 1), 0xD1: (">h", 2), 0xD2: (">i", 4), 0xD3: (">q", 8),
}
_SIZED = {
    0xC4: ("bin", ">B", 1), 0xC5: ("bin", ">H", 2), 0xC6: ("bin", ">I", 4),
    0xD9: ("str", ">B", 1), 0xDA: ("str", ">H", 2), 0xDB: ("str", ">I", 4),
    0xDC: ("array", ">H", 2), 0xDD: ("array", ">I", 4), 0xDE: ("map", ">H", 2), 0xDF: ("map", ">I", 4),
}


def unpack_plainly(data: bytes) -> Any:
    """The one value that these bytes are. Errors: ValueError."""
    reader = _Reader(bytes(data))
    value = reader.value(0)
    if reader.at != len(reader.data):
        raise ValueError("bytes after the end of the message")
    return value


def _load() -> Tuple[Pack, Unpack]:
    try:
        import msgpack
    except ImportError:
        return pack_plainly, unpack_plainly

    def pack_fast(value: Any) -> bytes:
        return cast(bytes, msgpack.packb(value, use_bin_type=True))

    def unpack_fast(data: bytes) -> Any:
        try:
            return msgpack.unpackb(data, raw=False, strict_map_key=False, unicode_errors="surrogateescape")
        except ValueError:
            raise
        except Exception as error:  # msgpack has exceptions of its own that are no ValueError
            raise ValueError(str(error)) from error

    return pack_fast, unpack_fast


pack, unpack = _load()
