"""Functions and values as bytes: by cloudpickle, which takes functions of __main__ and lambdas, too, where it is installed."""
from __future__ import annotations

import pickle
from typing import Any, Callable, Optional, cast

_dumps: Optional[Callable[..., bytes]] = None
_is_cloud = False
_PLAIN = (int, float, str, bytes, bool, type(None), complex)


def _load() -> Callable[..., bytes]:
    global _dumps, _is_cloud
    if _dumps is None:
        try:
            import cloudpickle
        except ImportError:
            _dumps = pickle.dumps
        else:
            _dumps, _is_cloud = cast(Callable[..., bytes], cloudpickle.dumps), True
    return _dumps


def dumps(value: Any) -> bytes:
    """Errors: what pickling raises."""
    dump = _dumps or _load()
    return dump(value, pickle.HIGHEST_PROTOCOL)


def dumps_function(function: Any) -> bytes:
    """A function's bytes. Errors: what pickling raises; PicklingError with what to do where cloudpickle is missing."""
    _load()
    if not _is_cloud and getattr(function, "__module__", None) in ("__main__", "__mp_main__"):
        raise pickle.PicklingError("functions of the program itself need the package cloudpickle (Debian: python3-cloudpickle), "
                                   "or a place in a module that workers can import: %r" % (function,))
    return dumps(function)


def dumps_arguments(args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> bytes:
    """Both as one value; numbers and texts, of which there may be many, take the short way."""
    if all(type(value) in _PLAIN for value in args) and all(type(value) in _PLAIN for value in kwargs.values()):
        return pickle.dumps((args, kwargs), pickle.HIGHEST_PROTOCOL)
    return dumps((args, kwargs))


loads = pickle.loads


def dumps_result(value: Any) -> bytes:
    """A result, or a list of them: numbers and texts take the short way. Errors: what pickling raises."""
    if type(value) in _PLAIN:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return dumps(value)


def dumps_chunk(chunk: "list[tuple[Any, ...]]") -> bytes:
    """The arguments of several calls. Errors: what pickling raises."""
    if all(type(value) in _PLAIN for args in chunk for value in args):
        return pickle.dumps(chunk, pickle.HIGHEST_PROTOCOL)
    return dumps(chunk)
