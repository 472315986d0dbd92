"""Parsl: HolonExecutor in Config(executors=[...]). Tried against a stub of parsl's ParslExecutor alone: it is not in Debian 12."""
from __future__ import annotations

import concurrent.futures
from typing import Any, Callable, Dict, Mapping, Optional, Union

from parsl.executors.base import ParslExecutor

from ..blocking import Instance
from ..executor import Executor

# Parsl's words for what a call needs, and ours.
_WORDS = {"cores": "cores", "gpus": "gpus", "num_nodes": "nodes", "nodes": "nodes", "limit": "limit"}


class HolonExecutor(ParslExecutor):
    """Apps as calls of a holon.Executor. parsl_resource_specification: cores, gpus, num_nodes, memory (MiB), running_time_min,
    limit. label: Parsl's name of it; options: those of holon.Executor."""

    radio_mode = "filesystem"

    def __init__(self, label: str = "holon", instance: Union[Instance, str, None] = None, **options: Any) -> None:
        super().__init__()
        self.label = label
        self._options: Dict[str, Any] = {"instance": instance, **options}
        self._executor: Optional[Executor] = None

    def start(self) -> None:
        """Connects."""
        self._executor = Executor(**self._options)

    def submit(self, func: Callable[..., Any], resource_specification: Mapping[str, Any], *args: Any,
               **kwargs: Any) -> "concurrent.futures.Future[Any]":
        """Runs an app. Errors: those of Executor.submit()."""
        assert self._executor is not None, "start() comes first"
        asked = {_WORDS.get(name, name): value for name, value in resource_specification.items()
                 if name not in ("memory", "running_time_min", "priority")}
        if "memory" in resource_specification:
            asked["memory"] = "%dM" % resource_specification["memory"]
        if "running_time_min" in resource_specification:
            asked["limit"] = 60.0 * resource_specification["running_time_min"]
        return self._executor.submit(func, *args, resource_dict=asked, **kwargs)

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        """Waits for what runs, and ends the workers."""
        if self._executor is not None:
            self._executor.shutdown()
