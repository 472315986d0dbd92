#!/usr/bin/env python3
"""How a simulated machine grows: a made trace on graphs of more and more nodes.

  model.py HOLON NODES...    a table, and rows for docs/growth.csv, of user time

Two jobs a node of 32 cores, of 1 to 128 processors, most of them half an hour long, submitted in about half the
time that the machine needs for them: it is full, and jobs wait.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

CORES = 32
SIZES = [1, 1, 4, 16, 32, 32, 64, 128]
LIMITS = [1, 1.5, 2, 5]  # times as long as the job


def write_trace(nodes, file):
    random.seed(1)
    jobs = [(random.choice(SIZES), int(random.expovariate(1 / 1800)) + 10) for _ in range(2 * nodes)]
    work = sum(size * length for size, length in jobs)
    span = 0.55 * work / (0.9 * nodes * CORES)
    file.write(f"; MaxProcs: {nodes * CORES}\n")
    for i, (size, length) in enumerate(jobs):
        submit = int(span * i / len(jobs))
        limit = int(length * random.choice(LIMITS))
        file.write(f"{i + 1} {submit} -1 {length} {size} -1 -1 {size} {limit} -1 1 {i % 17 + 1} 1 -1 1 1 -1 -1\n")
    file.flush()
    return len(jobs)


def main():
    holon, rows = sys.argv[1], []
    for nodes in map(int, sys.argv[2:]):
        with tempfile.NamedTemporaryFile("w", suffix=".swf") as trace:
            jobs = write_trace(nodes, trace)
            run = subprocess.Popen([holon, "simulate", trace.name, "--policy", "easy", "--queue-depth", "256", "--json",
                                    "--resources", f"node={nodes}/core={CORES}"], stdout=subprocess.PIPE)
            passes = json.load(run.stdout)[0]["passes"]
            used = os.wait4(run.pid, 0)[2]
        print(f"{nodes} nodes: {jobs} jobs, {passes} passes, {used.ru_utime:.2f} s, {used.ru_maxrss // 1024} MiB")
        rows += [f"simulate/pass,{nodes},{used.ru_utime / passes * 1e9:.1f}",
                 f"simulate/job,{nodes},{used.ru_utime / jobs * 1e9:.1f}"]
    print("\n".join(rows))


main()
