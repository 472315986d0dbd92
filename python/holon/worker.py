"""python -m holon.worker: a worker of a holon.Executor. The executor submits it as a job; people do not start it.

It connects to the executor, runs one call after the other, and ends when it is told to, or as soon as the executor has gone.
"""
from __future__ import annotations

import hmac
import json
import os
import pickle
import select
import socket
import sys
import threading
import traceback
from typing import Any, Dict, Iterator, List, Tuple

from . import _channel as channel
from . import _pickling as pickling

CONNECT_PATIENCE = 30.0  # s
_FUNCTIONS_KEPT = 128


def connect(addresses: List[str]) -> socket.socket:
    """A connection to the executor: "unix:PATH", "tcp:HOST:PORT", tried in turn. Exits with 1 if there is none."""
    told = []
    for address in addresses:
        kind, _, place = address.partition(":")
        try:
            if kind == "unix":
                made = socket.socket(socket.AF_UNIX)
                made.settimeout(CONNECT_PATIENCE)
                made.connect(place)
            else:
                host, _, port = place.rpartition(":")
                made = socket.create_connection((host, int(port)), CONNECT_PATIENCE)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
        except OSError as error:
            told.append("%s: %s" % (address, error.strerror or error))
    print("holon.worker: no executor can be reached from this node:\n  " + "\n  ".join(told), file=sys.stderr)
    if not any(address.startswith("tcp:") for address in addresses):
        print("holon.worker: on other nodes than the executor's own, workers need Executor(listen=\"tcp://ADDRESS:PORT\")", file=sys.stderr)
    sys.exit(1)


def take(line: socket.socket, size: int) -> bytes:
    """So many bytes. Errors: EOFError."""
    data = b""
    while len(data) < size:
        piece = line.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def prove(line: socket.socket, secret: bytes) -> None:
    """Each side shows that it knows the secret. Exits with 1 if the other one does not."""
    theirs = take(line, channel.NONCE)
    ours = os.urandom(channel.NONCE)
    line.sendall(ours + channel.proof(secret, b"worker", theirs, ours))
    if not hmac.compare_digest(take(line, channel.PROOF), channel.proof(secret, b"executor", theirs, ours)):
        sys.exit("holon.worker: what listens there is not the executor that has started this worker")


def end_with(line: socket.socket) -> None:
    """Ends the process when the executor has gone, whatever it is doing: nobody is left who wants the result."""

    def watch() -> None:
        poll = select.poll()
        poll.register(line, select.POLLRDHUP | select.POLLHUP)
        poll.poll()
        os._exit(1)

    threading.Thread(target=watch, name="holon-watch", daemon=True).start()


def frames(line: socket.socket) -> Iterator[channel.Frame]:
    """What the executor sends, until it has gone."""
    cut = channel.Frames()
    while True:
        data = line.recv(1 << 18)
        if not data:
            return
        yield from cut.feed(data)


class Calls:
    """Functions by their numbers, and the calls of them."""

    def __init__(self) -> None:
        self._texts: Dict[int, bytes] = {}
        self._functions: Dict[int, Any] = {}

    def learn(self, number: int, text: bytes) -> None:
        """A function that calls will name. The executor knows, too, that only the last so many are kept."""
        self._texts[number] = text
        while len(self._texts) > _FUNCTIONS_KEPT:
            oldest = next(iter(self._texts))
            del self._texts[oldest]
            self._functions.pop(oldest, None)

    def function(self, number: int) -> Any:
        """The function of a number. Errors: what unpickling it raises."""
        if number not in self._functions:
            self._functions[number] = pickling.loads(self._texts[number])
        return self._functions[number]

    def run(self, kind: int, body: bytes) -> Tuple[int, bytes]:
        """The kind and body of the answer to a call."""
        number = channel.FUNCTION_NUMBER.unpack_from(body)[0]
        try:
            function = self.function(number)
            given = pickling.loads(memoryview(body)[channel.FUNCTION_NUMBER.size:])
            if kind == channel.CALL:
                args, kwargs = given
                return channel.RESULT, answer(function(*args, **kwargs))
        except BaseException as error:
            return channel.RAISED, raised(error)
        results: List[Any] = []
        try:
            for args in given:
                results.append(function(*args))
        except BaseException as error:
            return channel.RESULT, answer((results, raised(error)))
        return channel.RESULT, answer((results, None))


def answer(value: Any) -> bytes:
    """The bytes of a result. Errors: what pickling raises."""
    return pickling.dumps_result(value)


def raised(error: BaseException) -> bytes:
    """The bytes of an exception and its traceback; one that cannot travel is told by its text."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    error.__traceback__ = None
    try:
        told = pickling.dumps((error, text))
        pickling.loads(told)
        return told
    except BaseException:
        return pickle.dumps((RuntimeError("%s: %s (this exception cannot be pickled)" % (type(error).__name__, error)), text))


def serve(line: socket.socket) -> int:
    """Runs what comes, until it is told to stop; the exit code."""
    calls = Calls()
    for kind, number, body in frames(line):
        if kind in (channel.CALL, channel.CALL_MANY):
            answered, told = calls.run(kind, body)
            line.sendall(channel.frame(answered, number, told))
        elif kind == channel.FUNCTION:
            calls.learn(number, body)
        elif kind == channel.INIT:
            try:
                initialize(body)
            except BaseException:
                line.sendall(channel.frame(channel.INIT_FAILED, body=traceback.format_exc().encode("utf-8", "replace")))
                return 1
            line.sendall(channel.frame(channel.READY))
        elif kind == channel.STOP:
            return 0
    return 1


def initialize(body: bytes) -> None:
    """Looks for modules where the executor's program does, and runs its initializer. Errors: what that raises."""
    path, text = pickle.loads(body)
    known = set(sys.path)
    sys.path += [place for place in path if place not in known]
    if text is not None:
        function, args = pickling.loads(text)
        function(*args)


def main() -> int:
    """Exit code 0: it was told to stop."""
    try:
        addresses = os.environ.pop("HOLON_WORKER_AT").split()
        secret = bytes.fromhex(os.environ.pop("HOLON_WORKER_SECRET"))
    except (KeyError, ValueError):
        print(__doc__, file=sys.stderr)
        return 2
    if os.environ.get("HOLON_TASK_RANK", "0") != "0":
        return 0  # of a worker of several nodes the first task answers; the others only hold the nodes
    line = connect(addresses)
    try:
        prove(line, secret)
        line.settimeout(None)
        end_with(line)
        told = {"job": int(os.environ.get("HOLON_JOB_ID", "0")), "pid": os.getpid(), "host": socket.gethostname()}
        line.sendall(channel.frame(channel.HELLO, body=json.dumps(told).encode()))
        return serve(line)
    except (EOFError, OSError):
        return 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.exit(code)
