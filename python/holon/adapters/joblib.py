"""joblib, and with it scikit-learn: Parallel(n_jobs=...) in warm workers that are jobs.

    from holon.adapters.joblib import register
    register()
    with joblib.parallel_backend("holon", resource_dict={"cores": 2}):
        model.fit(x, y)
"""
from __future__ import annotations

import concurrent.futures
from typing import Any, Callable, Mapping, Optional, Union

import joblib
from joblib._parallel_backends import AutoBatchingMixin, ParallelBackendBase

from ..blocking import Instance
from ..executor import Executor


class _Answer:
    """What joblib asks for a result with."""

    def __init__(self, future: "concurrent.futures.Future[Any]") -> None:
        self._future = future

    def get(self, timeout: Optional[float] = None) -> Any:
        """The result; `timeout` in s. Errors: those of the call, TimeoutError."""
        return self._future.result(timeout)


class HolonBackend(AutoBatchingMixin, ParallelBackendBase):
    """instance, resource_dict and further options: those of holon.Executor. Its workers stay warm between two Parallel()
    and end behind the `with`, or when they have been idle for 10 s (idle_timeout)."""

    supports_timeout = True
    uses_threads = False
    supports_sharedmem = False

    def __init__(self, instance: Union[Instance, str, None] = None, resource_dict: Optional[Mapping[str, Any]] = None,
                 nesting_level: Optional[int] = None, inner_max_num_threads: Optional[int] = None, **options: Any) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        options.setdefault("idle_timeout", 10.0)
        self._executor = Executor(instance=instance, resource_dict=resource_dict, **options)
        self.parallel: Any = None

    def effective_n_jobs(self, n_jobs: Optional[int]) -> int:
        """So many calls at a time; negative: all workers but -n_jobs - 1. Errors: ValueError (0)."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        most = self._executor.max_workers
        return max(1, most + 1 + n_jobs) if n_jobs < 0 else min(n_jobs, most)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **ignored: Any) -> int:
        """Begins a Parallel()."""
        self.parallel = parallel
        return self.effective_n_jobs(n_jobs)

    def apply_async(self, func: Callable[[], Any], callback: Optional[Callable[[Any], None]] = None) -> _Answer:
        """Runs a batch of calls."""
        future = self._executor.submit(func)
        if callback is not None:
            future.add_done_callback(callback)
        return _Answer(future)

    def submit(self, func: Callable[[], Any], callback: Optional[Callable[[Any], None]] = None) -> _Answer:
        """apply_async() of later versions of joblib."""
        return self.apply_async(func, callback)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Nothing more is submitted; what runs ends by itself."""

    def terminate(self) -> None:
        """The workers stay, until nobody has this backend any more, or they have been idle for long enough."""
        self.reset_batch_stats()
        self.parallel = None

    def close(self) -> None:
        """Ends the workers."""
        self._executor.shutdown()


def register(name: str = "holon") -> None:
    """Makes the backend known to joblib under a name."""
    joblib.register_parallel_backend(name, HolonBackend)
