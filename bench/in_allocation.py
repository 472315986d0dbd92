#!/usr/bin/env python3
"""Steps of Slurm and jobs of holon side by side, in one batch job of two nodes or more: jobs of one core per second, and
how long one job on another node takes.

  sbatch -N4 --ntasks-per-node=2 in_allocation.py HOLON [STEPS [JOBS [ALONE]]]

STEPS (100) by `srun --exact`, eight at a time, JOBS (500) by one `holon submit --count`, both of `true`; then ALONE (20)
jobs one by one, by turns of `srun` and `holon run`, on the last node. Prints one line of JSON: steps and jobs per second,
milliseconds (median, least) of one. HOLON has to be the same file on all nodes.
"""
import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

AT_A_TIME = 8


def seconds_of(words):
    begin = time.monotonic()
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def step(*where):
    return ["srun", "--exact", "-N1", "-n1", "-c1", "--mpi=none", *where, "true"]


def of_one(times):
    return {"median_ms": round(1000 * statistics.median(times), 1), "least_ms": round(1000 * min(times), 1)}


# The initial program of an instance of all nodes: Slurm's steps are made beside its agents.
def measure(holon, steps, jobs, alone):
    last = subprocess.run(["scontrol", "show", "hostnames"], check=True, capture_output=True, text=True).stdout.split()[-1]
    begin = time.monotonic()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda _: seconds_of(step()), range(steps)))
    steps_took = time.monotonic() - begin
    jobs_took = seconds_of([holon, "submit", "--count", str(jobs), "true"]) + seconds_of([holon, "job", "wait", "--all"])
    by_slurm, by_holon = [], []
    for _ in range(alone):
        by_slurm.append(seconds_of(step("-w", last)))
        by_holon.append(seconds_of([holon, "run", "-w", last, "true"]))
    print(json.dumps({"steps_per_second": round(steps / steps_took, 1), "jobs_per_second": round(jobs / jobs_took, 1),
                      "step_on_another_node": of_one(by_slurm), "run_on_another_node": of_one(by_holon)}))


def main():
    if len(sys.argv) < 2 or "SLURM_JOB_ID" not in os.environ:
        sys.exit(__doc__)
    holon, *counts = sys.argv[1:]
    steps, jobs, alone = [int(given) for given in counts] + [100, 500, 20][len(counts):]
    if "HOLON_URI" in os.environ:
        return measure(holon, steps, jobs, alone)
    # Slurm runs a copy of the script, which need not be on another node; this one starts itself again on its own.
    own = [sys.executable, os.path.abspath(__file__), holon, *map(str, (steps, jobs, alone))]
    sys.exit(subprocess.run([holon, "start", "--", *own], check=False).returncode)


if __name__ == "__main__":
    main()
