"""Requests from what people write: jobs, arrays, paths, sets of numbers."""
from __future__ import annotations

import dataclasses
import getpass
import json
import os
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Union

from .errors import InvalidArgument
from .jobspec import Command, Limit, Spec
from .messages import SubmitRequest

_OPTIONS = {field.name for field in dataclasses.fields(Spec)} - {"command"}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def spec_of(command: Union[Command, Spec], options: Mapping[str, Any]) -> Spec:
    """A Spec of a command (or of another Spec) with options. Errors: InvalidArgument (one that there is not)."""
    for name in options:
        if name not in _OPTIONS:
            raise InvalidArgument("there is no such option; there are %s" % ", ".join(sorted(_OPTIONS)), name)
    if isinstance(command, Spec):
        return dataclasses.replace(command, **options)
    return Spec(command, **options)


def request_of(command: Union[Command, Spec, Mapping[str, Any]], options: Mapping[str, Any], count: int = 1,
               array: Optional[Dict[str, Any]] = None, key: str = "") -> SubmitRequest:
    """A submission. Errors: InvalidArgument."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidArgument("%r is no number of jobs, at least 1" % (count,), "count")
    urgency = 16
    if isinstance(command, Mapping):
        if options:
            raise InvalidArgument("a jobspec says all there is to say; no options go with it", sorted(options)[0])
        document = json.loads(json.dumps(command))
    else:
        spec = spec_of(command, options)
        urgency = spec.urgency
        if isinstance(urgency, bool) or not isinstance(urgency, int) or not 0 <= urgency <= 31:
            raise InvalidArgument("%r is not accepted; 0 (held) to 31 (at once) are" % (urgency,), "urgency")
        document = spec.document()
    if array is not None:
        document.setdefault("attributes", {}).setdefault("system", {}).setdefault("holon", {})["array"] = array
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidArgument("a jobspec cannot hold it: %s" % error) from None
    return SubmitRequest(jobspec=text, count=count, urgency=urgency, user=_user(), key=key)


def jobspec_of_grant(slots: int, cores: int, gpus: int, limit: Optional[Limit], now: bool) -> str:
    """The jobspec of an ask for more. Errors: InvalidArgument."""
    document = Spec(["grant"], tasks=slots, cores=cores, gpus=gpus, limit=limit, env={}).document()
    if now:
        document["attributes"]["system"].setdefault("holon", {})["immediate"] = True
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


class ArrayOf(NamedTuple):
    """How many tasks, and attributes.system.holon.array."""

    size: int
    options: Dict[str, Any]


def array_of(entries: Optional[Iterable[Any]], count: Optional[int], indices: Optional[str], first: int, step: int,
             max_running: int, max_fails: Optional[int]) -> ArrayOf:
    """Errors: InvalidArgument."""
    options: Dict[str, Any] = {"indices": indices} if indices is not None else {"first": first, "step": step}
    if entries is not None:
        if isinstance(entries, (str, bytes)):
            raise InvalidArgument("a list of entries is expected, not one text", "entries")
        texts = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in entries]
        if not texts or (count is not None and count != len(texts)):
            raise InvalidArgument("there are %d entries" % len(texts), "entries")
        options["entries"], count = texts, len(texts)
    if count is None and indices is not None:
        count = len(numbers_of(indices))
    if count is None:
        raise InvalidArgument("how many tasks? entries, count or indices say so", "count")
    if max_running:
        options["max_running"] = max_running
    if max_fails is not None:
        options["max_fails"] = max_fails
    return ArrayOf(count, options)


def idset(numbers: Iterable[int]) -> str:
    """ "1-3,7" for ascending numbers."""
    parts: List[List[int]] = []
    for number in numbers:
        if parts and parts[-1][1] + 1 == number:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in parts)


def numbers_of(text: str) -> List[int]:
    """The numbers of an idset. Errors: InvalidArgument."""
    numbers: List[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            numbers += range(int(first), int(last or first) + 1)
    except ValueError:
        raise InvalidArgument("%r is no set of numbers like 1,3,5-7" % text, "indices") from None
    return numbers


def join_path(here: str, path: str) -> str:
    """An absolute path of an instance; "..": its parent. Errors: InvalidArgument (above the root, or none)."""
    parts: List[str] = [] if path.startswith("/") else [part for part in here.split("/") if part]
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                raise InvalidArgument("leads above the root", path)
            parts.pop()
        elif part.replace(".", "").isdigit():
            parts.append(part)
        else:
            raise InvalidArgument("is no path of an instance; accepted are /, /3/7, 7, .., ../9", path)
    return "/" + "/".join(parts)
