"""Which instance is meant by a program that was not told, and whether one comes back (as client/find_instance.cpp)."""
from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
from typing import Iterator, List, NamedTuple, Optional

from ..errors import Disconnected

_LONGEST_SOCKET = 107  # bytes of a socket's path
_NEW_DIR = "/holon-XXXXXX"


class RunningInstance(NamedTuple):
    """A root instance of this user."""

    uri: str
    name: str
    state_dir: str


def _may_hold_sockets(folder: str) -> bool:
    room = len(os.fsencode(folder)) + len(_NEW_DIR) + 16
    return folder.startswith("/") and os.access(folder, os.W_OK | os.X_OK) and room <= _LONGEST_SOCKET


def runtime_bases() -> List[str]:
    """The folders in which instances of this user have their own."""
    own = "/run/user/%d" % os.geteuid()
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        folder = os.environ.get(name, "")
        if folder and _may_hold_sockets(folder):
            return [folder, "/tmp"] if folder == own else [folder]
    return [own, "/tmp"] if _may_hold_sockets(own) else ["/tmp"]


def supervisor_lives(folder: str) -> bool:
    """Does the instance of this folder have a supervisor, which starts its broker again?"""
    try:
        descriptor = os.open(os.path.join(folder, "supervisor"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def listens(path: str) -> bool:
    """Does anybody listen at this socket?"""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except BlockingIOError:
            return True  # its backlog is full
        except OSError:
            return False
    return True


def _folders() -> Iterator[str]:
    for base in runtime_bases():
        try:
            names = sorted(os.listdir(base))
        except OSError:
            continue
        for name in names:
            folder = os.path.join(base, name)
            try:
                told = os.lstat(folder)
            except OSError:
                continue
            if name.startswith("holon-") and stat.S_ISDIR(told.st_mode) and told.st_uid == os.getuid():
                yield folder


def _root_in(folder: str) -> Optional[RunningInstance]:
    try:
        with open(os.path.join(folder, "instance.json"), encoding="utf-8") as file:
            options = json.load(file)
        if options.get("parent_uri"):
            return None
        start = options["start"]
        name, state_dir = str(start.get("name", "")), str(start.get("state_dir", ""))
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    path = os.path.join(folder, "broker")
    if not listens(path) and not supervisor_lives(folder):
        return None
    return RunningInstance("ipc://" + path, name, state_dir)


def running_roots() -> List[RunningInstance]:
    """This user's root instances on this machine."""
    return [root for root in map(_root_in, _folders()) if root is not None]


def _open_to_all() -> List[str]:
    try:
        names = sorted(os.listdir("/run/holon"))
    except OSError:
        return []
    return ["ipc:///run/holon/%s/broker" % name for name in names if listens("/run/holon/%s/broker" % name)]


def find_instance() -> str:
    """The address: $HOLON_URI, else the user's only running root instance. Errors: Disconnected, with what to do."""
    uri = os.environ.get("HOLON_URI", "")
    if uri:
        return uri
    roots = running_roots()
    if len(roots) == 1:
        return roots[0].uri
    if roots:
        lines = "".join("\n  HOLON_URI=%s  # %s, state in %s" % root for root in roots)
        raise Disconnected("%d instances run here; say which one:%s" % (len(roots), lines))
    for_all = _open_to_all()
    if len(for_all) == 1:
        return for_all[0]
    if for_all:
        raise Disconnected("%d instances for all users run here; say which one by HOLON_URI, such as %s"
                           % (len(for_all), for_all[0]))
    raise Disconnected("no instance runs here; `holon start` makes one, HOLON_URI names one elsewhere")


def uri_of(address: str) -> str:
    """The uri of an address, which may be the name of a socket."""
    return "ipc://" + address if address.startswith("/") else address


def may_come_back(uri: str) -> bool:
    """May a broker at this ipc:// address be there again soon? True for addresses on other machines."""
    if not uri.startswith("ipc://"):
        return True
    path = uri[len("ipc://"):]
    folder = os.path.dirname(path)
    if supervisor_lives(folder) or listens(path):
        return True
    # Another user's instance: its lock cannot be looked at, and it counts as there until it has ended in order.
    lock = os.path.join(folder, "supervisor")
    return os.path.exists(lock) and not os.access(lock, os.R_OK)
