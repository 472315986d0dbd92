"""Dask: its graphs in a holon.Executor, or a cluster of its own workers as jobs.

    with holon.Executor() as executor:
        x.compute(scheduler=executor)          # graph by graph
        dask.config.set(scheduler=get(executor))

    with HolonCluster(cores=2, limit="1h") as cluster, distributed.Client(cluster):
        cluster.adapt(minimum=0, maximum=20)   # workers come as jobs, and go, as there is work
"""
from __future__ import annotations

import asyncio
import sys
from typing import Any, Callable, Dict, Mapping, Optional

import cloudpickle
import dask
import distributed
from dask.local import get_async
from dask.optimization import cull, fuse
from distributed.deploy.spec import ProcessInterface, SpecCluster

from .._jobs import AsyncJob
from ..aio import AsyncInstance
from ..errors import HolonError
from ..executor import Executor


def get(executor: Executor, resource_dict: Optional[Mapping[str, Any]] = None) -> Callable[..., Any]:
    """A scheduler for dask.config.set(scheduler=...): tasks that follow each other go to a worker together."""

    def submit(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return executor.submit(function, *args, resource_dict=resource_dict, **kwargs)

    def run(graph: Any, keys: Any, **kwargs: Any) -> Any:
        flat = dask.core.flatten(keys) if isinstance(keys, list) else [keys]
        needed, dependencies = cull(dask.utils.ensure_dict(graph), list(flat))
        fused, _ = fuse(needed, list(dask.core.flatten(keys)) if isinstance(keys, list) else [keys], dependencies)
        return get_async(submit, executor.max_workers, fused, keys, loads=cloudpickle.loads, dumps=cloudpickle.dumps, **kwargs)

    return run


class HolonWorker(ProcessInterface):
    """A Dask worker that is a job: started by the cluster, which knows how many are wanted."""

    def __init__(self, scheduler: str, shared: "Shared", name: Any = None, nthreads: int = 1, options: Optional[Dict[str, Any]] = None,
                 **kwargs: Any) -> None:
        super().__init__(scheduler=scheduler, name=name, **kwargs)
        self.name = name
        self._scheduler = scheduler
        self._shared = shared
        self._threads = nthreads
        self._options = options or {}
        self.job: Optional[AsyncJob] = None

    async def start(self) -> None:
        """Submits the job. It may wait in the queue: the scheduler counts the worker when it is there."""
        instance = await self._shared.instance()
        words = [sys.executable, "-m", "distributed.cli.dask_worker", self._scheduler, "--name", str(self.name), "--nthreads",
                 str(self._threads), "--no-dashboard", "--death-timeout", "60", "--nworkers", "1", "--no-nanny"]
        self.job = await instance.submit(words, cores=self._threads, name="dask-worker", **self._options)
        await super().start()

    async def close(self) -> None:
        """Ends the job."""
        if self.job is not None:
            try:
                await self.job.cancel("the cluster has no work for it")
            except HolonError:
                pass  # the instance has ended, and its jobs with it
        await super().close()


class Shared:
    """One connection for all workers of a cluster, in its event loop."""

    def __init__(self, uri: Optional[str]) -> None:
        self._uri = uri
        self._making: "Optional[asyncio.Task[AsyncInstance]]" = None

    async def instance(self) -> AsyncInstance:
        """The instance. Errors: those of AsyncInstance.connect()."""
        if self._making is None:
            self._making = asyncio.ensure_future(AsyncInstance.connect(self._uri))
        return await self._making

    async def close(self) -> None:
        """Ends the connection, if there is one."""
        if self._making is not None and self._making.done() and self._making.exception() is None:
            await self._making.result().close()


class HolonCluster(SpecCluster):
    """A Dask cluster whose workers are jobs of `cores` threads each; scale(n) and adapt() submit and cancel them.

    uri: of the instance (None: as Instance.connect()). memory: of each worker ("4G"). limit, queue, env, ...: as of
    submit(). scheduler_options: of distributed.Scheduler; host "127.0.0.1" unless it says otherwise: workers on other nodes
    need an address that they reach."""

    def __init__(self, n_workers: int = 0, uri: Optional[str] = None, *, cores: int = 1, memory: Any = None,
                 scheduler_options: Optional[Mapping[str, Any]] = None, asynchronous: bool = False, loop: Any = None, name: Optional[str] = None,
                 **options: Any) -> None:
        self._shared = Shared(uri)
        if memory is not None:
            options["memory"] = memory
        scheduler = {"cls": distributed.Scheduler, "options": {"host": "127.0.0.1", "port": 0, "dashboard": False,
                                                               "dashboard_address": None, **(scheduler_options or {})}}
        worker = {"cls": HolonWorker, "options": {"shared": self._shared, "nthreads": cores, "options": options}}
        super().__init__(workers={}, scheduler=scheduler, worker=worker, asynchronous=asynchronous, loop=loop, name=name)
        if n_workers:
            self.scale(n_workers)

    async def _close(self) -> None:
        await super()._close()
        await self._shared.close()
