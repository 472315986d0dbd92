"""holon from Python: instances, jobs as futures, and executors whose workers are jobs.

    import holon

    with holon.Instance.connect() as instance:          # $HOLON_URI, else the only instance of this user here
        job = instance.submit(["./a.out", "input"], cores=4, limit="1h")
        print(job.wait().result, job.output().decode())

    with holon.Executor(max_workers=8) as executor:     # a concurrent.futures.Executor
        print(sum(executor.map(work, range(1000), chunksize=10)))

holon.AsyncInstance is the same for asyncio. docs/python.md of the project has the rest.
"""
import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from . import messages as messages
    from ._jobs import AsyncArray as AsyncArray
    from ._jobs import AsyncJob as AsyncJob
    from ._jobs import Completed as Completed
    from ._jobs import Output as Output
    from ._wire.link import Patience as Patience
    from .aio import AsyncInstance as AsyncInstance
    from .blocking import Array as Array
    from .blocking import Instance as Instance
    from .blocking import Job as Job
    from .errors import Busy as Busy
    from .errors import Denied as Denied
    from .errors import Disconnected as Disconnected
    from .errors import Exists as Exists
    from .errors import HolonError as HolonError
    from .errors import InvalidArgument as InvalidArgument
    from .errors import JobFailed as JobFailed
    from .errors import NotFound as NotFound
    from .errors import OutOfRange as OutOfRange
    from .errors import Overcommitted as Overcommitted
    from .errors import ProtocolError as ProtocolError
    from .errors import SystemFailed as SystemFailed
    from .errors import TimedOut as TimedOut
    from .errors import Unsatisfiable as Unsatisfiable
    from .errors import Unsupported as Unsupported
    from .executor import Executor as Executor
    from .executor import WorkerLost as WorkerLost
    from .jobspec import Spec as Spec
    from .messages import JobRecord as JobRecord

__version__ = "0.1.0"

# Loaded when they are asked for: a worker needs none of them, and starts in half the time.
_PLACES = {
    "_jobs": ("AsyncArray", "AsyncJob", "Completed", "Output"),
    "_wire.link": ("Patience",),
    "aio": ("AsyncInstance",),
    "blocking": ("Array", "Instance", "Job"),
    "errors": ("Busy", "Denied", "Disconnected", "Exists", "HolonError", "InvalidArgument", "JobFailed", "NotFound", "OutOfRange",
               "Overcommitted", "ProtocolError", "SystemFailed", "TimedOut", "Unsatisfiable", "Unsupported"),
    "executor": ("Executor", "WorkerLost"),
    "jobspec": ("Spec",),
    "messages": ("JobRecord",),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}
__all__ = sorted([*_PLACE_OF, "messages"])


def __getattr__(name: str) -> Any:
    place = "messages" if name == "messages" else _PLACE_OF.get(name)
    if place is None:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    try:
        module = importlib.import_module("." + place, __name__)
    except ModuleNotFoundError as error:
        if error.name != __name__ + ".messages":
            raise
        raise ImportError("holon/messages.py is made when the package is built: `scripts/build release holon_python`, then "
                          "PYTHONPATH=build/release/python", name=error.name) from None
    value = module if name == "messages" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted([*globals(), *__all__])
