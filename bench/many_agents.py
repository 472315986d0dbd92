#!/usr/bin/env python3
"""One broker with many real agents, all on this machine, whose jobs run on few of them.

  many_agents.py HOLON [AGENTS [JOBS]]     256 agents and 2,000 jobs of `true` on 16 of them unless given

Each agent is on a "host" of its own by a program that stands for ssh and runs its words here. Prints one line of JSON: from
the start until the instance has all agents; memory of the broker and, the mean of all, of an agent and of what keeps
it (PSS, of which what they share counts once, and RSS); milliseconds of one `holon run` on this and on another node;
jobs per second. `bench_agents` measures the broker alone, with tasks that are never started.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ALONE = 20
WITH_TASKS = 16


def seconds_of(words):
    begin = time.monotonic()
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


# MiB (PSS, RSS) of the processes below `root` whose command line has these words in it.
def memory_of(root, words):
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue  # it has ended
        children.setdefault(int(text.rsplit(")", 1)[1].split()[1]), []).append(int(text.split()[0]))
    found, todo = [], [root]
    while todo:
        for pid in children.get(todo.pop(), []):
            todo.append(pid)
            try:
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue
            if words in command and "sh -c" not in command:
                kib = {line.split()[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
                found.append((kib["Pss:"] / 1024, kib["Rss:"] / 1024))
    if not found:
        return {"processes": 0}
    return {"processes": len(found), "pss_MiB": round(statistics.mean(pss for pss, _ in found), 2),
            "rss_MiB": round(statistics.mean(rss for _, rss in found), 1)}


def one_alone(holon, node):
    return round(1000 * statistics.median(seconds_of([holon, "run", "-w", node, "true"]) for _ in range(ALONE)), 1)


# The initial program.
def measure(holon, agents, jobs, begin):
    ready = time.monotonic() - begin
    supervisor = os.getppid()
    with_tasks = f"host:far[1-{min(WITH_TASKS, agents - 1)}]"
    up = json.loads(subprocess.run([holon, "uptime", "--json"], check=True, capture_output=True, text=True).stdout)
    here = os.uname().nodename
    result = {"agents": up["nodes"], "ready_ms": round(1000 * ready),
              "broker": memory_of(supervisor, "holon broker"), "agent": memory_of(supervisor, " agent --rank"),
              "keeper": memory_of(supervisor, " agent --join"),
              "run_here_ms": one_alone(holon, here), "run_there_ms": one_alone(holon, "far1")}
    took = seconds_of([holon, "submit", "--requires", with_tasks, "--count", str(jobs), "true"])
    took += seconds_of([holon, "job", "wait", "--all"])
    result["jobs_per_second"] = round(jobs / took)
    print(json.dumps(result))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    holon = os.path.abspath(sys.argv[1])
    agents, jobs = [int(given) for given in sys.argv[2:4]] + [256, 2000][len(sys.argv[2:4]):]
    if len(sys.argv) > 4:
        return measure(holon, agents, jobs, float(sys.argv[4]))
    with tempfile.TemporaryDirectory(prefix="holon-many-") as folder:
        ssh = pathlib.Path(folder, "ssh")
        # ssh -o OPTION -- HOST WORDS: as the tests' stand-in takes them.
        ssh.write_text('#!/bin/sh\nshift 5\nexec sh -c "exec $*"\n')
        ssh.chmod(0o700)
        begin = time.monotonic()
        own = [sys.executable, os.path.abspath(__file__), holon, str(agents), str(jobs), str(begin)]
        start = subprocess.run(
            [holon, "start", "--state-dir", f"{folder}/state", "--hosts", f"far[1-{agents - 1}]", "--conf",
             f"launch.ssh={ssh}", "--conf", "instance.address=127.0.0.1", "--conf", "instance.gather-timeout=5m",
             "--", *own], check=False)
        sys.exit(start.returncode)


if __name__ == "__main__":
    main()
