#!/usr/bin/env python3
"""elastic.py [BINARY] [--only WORDS] [--scale N] [--children N] - what grants that move cost, and what they bring; a line of JSON each.

  ask       a child asks for a core that is idle above until it can be used, and gives it back; so often a second
  all_ask   --children (100) children on one node begin, ask for a core each at once, and give it back; processor time of the
            instance above, memory (PSS) of a child
  load      two children of an 8-core node are loaded by turns, two periods of 120 s: done, mean time of a job, fixed and elastic
  tail      1,024 tasks of unequal length dealt to four children: until the last, with two cores each, with one and up to eight
            (what a child begins with is its own to its end), and in one instance

The node is made up (--resources) and jobs sleep, so that cores are those of the schedulers and not of this machine. --scale shortens
lengths and counts. Needs PYTHONPATH (docs/python.md); the machine should be idle.
"""
import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import holon

MEASURES = []
ELASTIC = ["grant.idle=2"]
HOLD = ["grant.hold=2"]  # of the instance above


def measure(function):
    MEASURES.append(function)
    return function


class Root:
    """An instance of one node, whose files and processes end with it."""

    def __init__(self, binary, cores, conf=()):
        self.dir = tempfile.mkdtemp(prefix="holon-elastic-")
        self.holon = f"{self.dir}/holon"  # a name of its own for this instance's processes
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.dir, "TMPDIR": self.dir, "XDG_RUNTIME_DIR": self.dir}
        shutil.copy(binary, self.holon)
        words = [self.holon, "start", "--bg", "--state-dir", f"{self.dir}/state", "--resources", f"node=1/core={cores}"]
        words += (word for key in conf for word in ("--conf", key))
        self.uri = subprocess.run(words, env=self.env, check=True, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout.strip()
        self.instance = holon.Instance.connect(self.uri)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.instance.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([self.holon, "shutdown"], env=dict(self.env, HOLON_URI=self.uri), check=False, timeout=120,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def children(self, count, cores, conf=()):
        """Instances of `cores` cores each, once all of them answer."""
        jobs = [self.instance.batch(["sleep", "infinity"], tasks=cores, conf=list(conf)) for _ in range(count)]
        return [job.instance(300) for job in jobs]

    def processes(self):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
                if words[0] == self.holon:
                    yield int(name), words[1]

    def processor_time(self):
        """ms, of the broker of this instance, the eldest of them."""
        broker = min(pid for pid, role in self.processes() if role == "broker")
        with open(f"/proc/{broker}/schedstat") as file:
            return int(file.read().split()[0]) / 1e6

    def weight(self):
        """MiB, of all processes."""
        kib = 0
        for pid, _ in self.processes():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as file:
                kib += int(re.search(r"^Pss: +(\d+)", file.read(), re.M).group(1))
        return kib / 1024


def told(name, **figures):
    print(json.dumps(dict(measure=name, **{key: round(value, 2) if isinstance(value, float) else value for key, value in figures.items()})),
          flush=True)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def ms_since(begin):
    return (time.monotonic() - begin) * 1e3


@measure
def ask(options):
    with Root(options.binary, 8) as root:
        [child] = root.children(1, 2)
        asks, moves = [], max(20, int(500 * options.scale))
        whole, before = time.monotonic(), root.processor_time()
        for _ in range(moves):
            begin = time.monotonic()
            answer = child.ask_grant()
            asks.append(ms_since(begin))
            assert answer.is_here, answer
            child.release_grant()
        took = time.monotonic() - whole
        told("ask", asks=moves, median_ms=statistics.median(asks), p99_ms=percentile(asks, 0.99), moves_per_second=2 * moves / took,
             broker_ms_a_move=(root.processor_time() - before) / (2 * moves))


@measure
def all_ask(options):
    count = max(2, int(options.children * options.scale))
    with Root(options.binary, 2 * count) as root:
        alone, begin = root.weight(), time.monotonic()
        children = root.children(count, 1)
        begun = time.monotonic() - begin
        connected = [holon.Instance.connect(root.uri, child.path) for child in children]
        before, begin = root.processor_time(), time.monotonic()
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(lambda child: child.ask_grant(), connected))
        assert all(answer.is_here for answer in answers), answers
        here = time.monotonic() - begin
        heavy = root.weight()
        for child in connected:
            child.release_grant()
        while any(part.source == "extra" for part in root.instance.grants().given):
            time.sleep(0.01)
        told("all_ask", children=count, begun_s=begun, all_here_s=here, back_s=time.monotonic() - begin - here,
             broker_ms_a_child=(root.processor_time() - before) / count, mib_a_child=(heavy - alone) / count)
        for child in connected:
            child.close()


# One child has the jobs of a half period, then the other.
def by_turns(root, children, period, periods):
    length, jobs = 1.0, int(period * 2.5)  # what five cores do in half of it
    times = []
    for _ in range(periods):
        for child in children:
            begin = time.monotonic()
            array = child.submit_array(["sleep", str(length)], range(jobs))
            times += [time.monotonic() - begin for _ in array.as_completed()]
            time.sleep(max(0, period / 2 - (time.monotonic() - begin)))
    return times


@measure
def load(options):
    period = 120 * options.scale
    for name, cores, conf in (("fixed", 4, []), ("elastic", 2, ["grant.max=6", *ELASTIC])):
        with Root(options.binary, 8, HOLD) as root:
            begin = time.monotonic()
            times = by_turns(root, root.children(2, cores, conf), period, 2)
            told("load", tree=name, jobs=len(times), mean_s=statistics.mean(times), p99_s=percentile(times, 0.99), all_s=time.monotonic() - begin)


@measure
def tail(options):
    count = max(4, int(256 * options.scale))
    lengths = [0.05, 0.1, 0.15, 0.2]  # of the tasks of each child
    for name, children, cores, conf in (("fixed", 4, 2, []), ("elastic", 4, 1, ["grant.max=8", *ELASTIC]), ("one", 1, 8, [])):
        with Root(options.binary, 8, HOLD) as root:
            instances = root.children(children, cores, conf)
            begin = time.monotonic()
            arrays = [instances[i % children].submit_array(["sleep", str(length)], range(count)) for i, length in enumerate(lengths)]
            for array in arrays:
                for _ in array.as_completed():
                    pass
            told("tail", tree=name, tasks=4 * count, all_s=time.monotonic() - begin, least_s=count * sum(lengths) / 8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", default="build/release/bin/holon")
    parser.add_argument("--only", default="", help="measures whose names match")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--children", type=int, default=100)
    options = parser.parse_args()
    chosen = [one for one in MEASURES if re.search(options.only, one.__name__)]
    if not chosen:
        sys.exit(f"elastic.py: no measure is called {options.only}; there are {', '.join(one.__name__ for one in MEASURES)}")
    for one in chosen:
        one(options)


if __name__ == "__main__":
    main()
