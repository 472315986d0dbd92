"""Errors, by the codes of the protocol (docs/protocol.md, "Bounds")."""
from __future__ import annotations

from typing import TYPE_CHECKING, Dict, Optional, Tuple, Type

if TYPE_CHECKING:
    from .messages import JobRecord


class HolonError(Exception):
    """What a broker has refused, or what came between.

    code: the protocol's word for it; what: a sentence; where: the place in the input ("tasks/7"), or "".
    """

    code = "system"

    def __init__(self, what: str, where: str = "", code: Optional[str] = None) -> None:
        super().__init__(what + (" (%s)" % where if where else ""))
        self.what = what
        self.where = where
        if code is not None:
            self.code = code

    def __reduce__(self) -> Tuple[object, ...]:
        return (_made_again, (type(self), self.what, self.where, self.code))


def _made_again(kind: Type[HolonError], what: str, where: str, code: str) -> HolonError:
    error = HolonError.__new__(kind)
    HolonError.__init__(error, what, where, code)
    return error


class InvalidArgument(HolonError, ValueError):
    """The request is wrong; `where` says in which place."""

    code = "invalid_argument"


class NotFound(HolonError, LookupError):
    """There is no such job, host, queue or instance."""

    code = "not_found"


class Exists(HolonError):
    """Another submission had this key."""

    code = "exists"


class OutOfRange(HolonError, ValueError):
    """More than may be asked for at once."""

    code = "out_of_range"


class Overcommitted(HolonError):
    """More than there is was given away."""

    code = "overcommitted"


class Unsatisfiable(HolonError):
    """It can never run here; the message says why."""

    code = "unsatisfiable"


class Busy(HolonError):
    """Not now: too much is waiting for an answer, or what is asked for is not up yet."""

    code = "busy"


class TimedOut(HolonError):
    """No answer in the time that such an answer may take."""

    code = "timed_out"


class Disconnected(HolonError):
    """There is no instance, or the connection was lost before the answer: it may have been carried out."""

    code = "disconnected"


class ProtocolError(HolonError):
    """One side did not understand the other."""

    code = "protocol"


class Denied(HolonError):
    """This user may not, or the job is not in a state for it."""

    code = "denied"


class Unsupported(HolonError):
    """This instance cannot do that."""

    code = "unsupported"


class SystemFailed(HolonError):
    """The operating system refused something to the instance."""

    code = "system"


class JobFailed(HolonError):
    """A job did not complete: it failed, was cancelled, timed out or was refused. `record` says how."""

    code = "job_failed"

    def __init__(self, record: JobRecord, output: str = "") -> None:
        job = record.path or "/%d" % record.id
        how = record.result
        if how == "FAILED" and record.exit_code >= 0:
            how += " with exit code %d" % record.exit_code
        text = "job %s (%s): %s" % (job, record.name, how)
        if record.reason:
            text += ": " + record.reason
        if output:
            text += "; the end of its output:\n" + output
        super().__init__(text)
        self.record = record
        self.output = output

    def __reduce__(self) -> Tuple[object, ...]:
        return (JobFailed, (self.record, self.output))


_BY_CODE: Dict[str, Type[HolonError]] = {
    kind.code: kind
    for kind in (InvalidArgument, NotFound, Exists, OutOfRange, Overcommitted, Unsatisfiable, Busy, TimedOut, Disconnected,
                 ProtocolError, Denied, Unsupported, SystemFailed)
}


def error_of(code: str, what: str, where: str = "") -> HolonError:
    """The exception for a code on the wire; an unknown code is a HolonError with that code."""
    return _BY_CODE.get(code, HolonError)(what, where, code)
