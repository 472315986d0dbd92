#!/usr/bin/env python3
"""python_executor.py [--calls N] [--workers N] [--jobs N] [--only NAME,...] - empty functions by map(), in one run:

  holon       holon.Executor, with chunks of 100 and singly
  process     concurrent.futures.ProcessPoolExecutor, the same
  dask        a LocalCluster of processes, client.map with batch_size=100 and singly
  loky        joblib.Parallel, batch_size 100 and 1
  submit      jobs per second that asyncio submits, each a request, and that end
  kill        calls and jobs whose broker is killed meanwhile: every future ends once

and the growth of this process's memory. Needs HOLON_BINARY and PYTHONPATH (docs/python.md); what is not installed is said. The
machine should be idle.
"""
import argparse
import asyncio
import concurrent.futures
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import holon


def nothing(x):
    return x


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def measure(name, calls, run):
    before, began = resident(), time.monotonic()
    count = run()
    took = time.monotonic() - began
    assert count == calls, (count, calls)
    print("%-24s %8d calls  %7.2f s  %8.0f /s  %+6.1f MiB" % (name, calls, took, calls / took, resident() - before), flush=True)


def count(items):
    return sum(1 for _ in items)


def with_holon(calls, workers, uri):
    with holon.Executor(workers, uri) as executor:
        list(executor.map(nothing, range(workers * 4)))
        measure("holon, chunks of 100", calls, lambda: count(executor.map(nothing, range(calls), chunksize=100)))
        measure("holon, singly", calls, lambda: count(executor.map(nothing, range(calls))))
        measure("holon, buffer of 1000", calls, lambda: count(executor.map(nothing, range(calls), buffersize=1000)))


def with_process(calls, workers, uri):
    with concurrent.futures.ProcessPoolExecutor(workers) as executor:
        list(executor.map(nothing, range(workers * 4)))
        measure("process, chunks of 100", calls, lambda: count(executor.map(nothing, range(calls), chunksize=100)))
        measure("process, singly", calls, lambda: count(executor.map(nothing, range(calls))))


def with_dask(calls, workers, uri):
    import distributed

    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        client.gather(client.map(nothing, range(100), pure=False))
        for name, options in (("dask, batches of 100", {"batch_size": 100}), ("dask, singly", {})):
            few = min(calls, 5000)
            measure(name, few, lambda: len(client.gather(client.map(nothing, range(few), pure=False, **options))))


def with_loky(calls, workers, uri):
    import joblib

    with joblib.Parallel(n_jobs=workers, batch_size=100) as parallel:
        parallel(joblib.delayed(nothing)(i) for i in range(100))
        measure("loky, batches of 100", calls, lambda: len(parallel(joblib.delayed(nothing)(i) for i in range(calls))))
    with joblib.Parallel(n_jobs=workers, batch_size=1) as parallel:
        parallel(joblib.delayed(nothing)(i) for i in range(10))
        measure("loky, singly", calls, lambda: len(parallel(joblib.delayed(nothing)(i) for i in range(calls))))


async def submit_all(uri, jobs):
    async with await holon.AsyncInstance.connect(uri) as instance:
        began = time.monotonic()
        made = await asyncio.gather(*(instance.submit(["true"], inherit_env=False) for _ in range(jobs)))
        print("asyncio: %d submissions  %.0f /s" % (jobs, jobs / (time.monotonic() - began)), flush=True)
        records = await instance.wait(made)
        assert all(record.result == "COMPLETED" for record in records)
        print("asyncio: %d jobs to their end  %.0f /s" % (jobs, jobs / (time.monotonic() - began)), flush=True)


async def kill_meanwhile(uri, jobs):
    async with await holon.AsyncInstance.connect(uri) as instance:
        ended = []
        tasks = [asyncio.ensure_future(instance.submit(["true"], inherit_env=False)) for _ in range(jobs)]
        kills, before = 0, len(await instance.jobs(all=True))
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0.5)
            if kills < 3:
                os.kill((await instance.status()).pid, signal.SIGKILL)
                kills += 1
        made = [task.result() for task in tasks]
        waits = [asyncio.ensure_future(job.wait()) for job in made]
        for wait in waits:
            wait.add_done_callback(lambda done: ended.append(done.result().id))
        os.kill((await instance.status()).pid, signal.SIGKILL)
        await asyncio.gather(*waits)
        assert sorted(ended) == sorted(job.id for job in made) and len(set(ended)) == jobs
        left = len(await instance.jobs(all=True)) - before
        print("kill: %d jobs, broker killed %d times: %d ended once, %d in the journal" % (jobs, kills + 1, len(ended), left), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--only", default="holon,process,dask,loky,submit,kill")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hb-", dir="/tmp")
    os.environ["XDG_RUNTIME_DIR"] = os.environ["TMPDIR"] = folder
    binary = os.environ.get("HOLON_BINARY") or shutil.which("holon")
    words = [binary, "start", "--resources", "node=1/core=%d" % max(2, options.workers), "--state-dir", folder + "/s", "--", "/bin/sh", "-c",
             'echo "$HOLON_URI"; exec cat']
    instance = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        uri = instance.stdout.readline().strip()
        for name in options.only.split(","):
            try:
                if name == "submit":
                    asyncio.run(submit_all(uri, options.jobs))
                elif name == "kill":
                    asyncio.run(kill_meanwhile(uri, options.jobs))
                else:
                    globals()["with_" + name](options.calls, options.workers, uri)
            except ImportError as error:
                print("%s: %s" % (name, error))
    finally:
        instance.stdin.close()
        instance.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
