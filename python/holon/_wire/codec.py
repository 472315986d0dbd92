"""Messages to msgpack and back. What has its default does not travel; what is not known is passed over."""
from __future__ import annotations

import dataclasses
import typing
from typing import Any, Callable, Dict, NamedTuple, Optional, Type, TypeVar

from . import msgpack

T = TypeVar("T")
Convert = Callable[[Any], Any]


class _Field(NamedTuple):
    name: str  # of the attribute
    wire: str
    default: Any
    to_wire: Optional[Convert]  # None: as it is
    from_wire: Convert


_PLANS: Dict[type, Dict[str, _Field]] = {}


def _text_from(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    raise ValueError("a string is expected, not %s" % type(value).__name__)


def _text_to(value: Any) -> Any:
    try:
        value.encode("utf-8")
        return value
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape")


def _number_from(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("an integer is expected, not %s" % type(value).__name__)
    return value


def _real_from(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("a number is expected, not %s" % type(value).__name__)
    return float(value)


def _flag_from(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false is expected, not %s" % type(value).__name__)
    return value


def _same(value: Any) -> Any:
    return value


def _conversions(kind: Any) -> "tuple[Optional[Convert], Convert]":
    if kind is str:
        return _text_to, _text_from
    if kind is int:
        return None, _number_from
    if kind is bool:
        return None, _flag_from
    if kind is float:
        return None, _real_from
    if dataclasses.is_dataclass(kind):
        return to_map, lambda value: from_map(kind, value)
    inner_to, inner_from = _conversions(typing.get_args(kind)[-1])
    inner = inner_to or _same
    if typing.get_origin(kind) is list:
        return lambda items: [inner(item) for item in items], lambda items: [inner_from(item) for item in items]
    return (lambda items: {_text_to(key): inner(item) for key, item in items.items()},
            lambda items: {_text_from(key): inner_from(item) for key, item in items.items()})


def _plan(kind: type) -> Dict[str, _Field]:
    plan = _PLANS.get(kind)
    if plan is None:
        types = typing.get_type_hints(kind)
        plain = kind()
        plan = {}
        for field in dataclasses.fields(typing.cast(Any, kind)):
            wire = field.name.rstrip("_")
            plan[wire] = _Field(field.name, wire, getattr(plain, field.name), *_conversions(types[field.name]))
        _PLANS[kind] = plan
    return plan


def to_map(message: Any) -> Dict[str, Any]:
    """The map that a message travels as."""
    out: Dict[str, Any] = {}
    for wire, field in _plan(type(message)).items():
        value = getattr(message, field.name)
        if value != field.default:
            out[wire] = field.to_wire(value) if field.to_wire else value
    return out


def from_map(kind: Type[T], value: Any) -> T:
    """A message of that kind. Errors: ValueError, with the field."""
    if not isinstance(value, dict):
        raise ValueError("a map is expected, not %s" % type(value).__name__)
    message = kind()
    plan = _plan(kind)
    attributes = message.__dict__
    for key, item in value.items():
        field = plan.get(key if isinstance(key, str) else _text_from(key))
        if field is None:
            continue
        try:
            attributes[field.name] = field.from_wire(item)
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError("%s: %s" % (key, error)) from None
    return message


def pack(message: Any) -> bytes:
    """The payload of a message."""
    return msgpack.pack(to_map(message))


def unpack(kind: Type[T], payload: bytes) -> T:
    """The message in a payload; an empty payload has all defaults. Errors: ValueError."""
    return from_map(kind, msgpack.unpack(payload)) if payload else kind()
