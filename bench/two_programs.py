#!/usr/bin/env python3
"""two_programs.py HOLON OTHER [ROUNDS] - what the start of a command costs two builds of holon, by turns: a dynamic and a static one, say.

Each has an instance of its own with four pretended cores. A round is each command once with the one and once with the other; printed
are medians in ms, with the least in brackets: from posix_spawn(3) to the end of the command, and for `batch` to the first line that a
job of the child writes; behind "cpu" the processor time of the command alone, which other work on the machine changes less. Then what the idle processes of an instance weigh: of all they have mapped (rss), and with shared pages
divided among those who share them (pss).
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


class Build:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        os.makedirs(folder)
        self.environment = dict(os.environ, PATH=os.path.dirname(binary) + ":" + os.environ["PATH"], HOME=folder)
        for name in [n for n in self.environment if n.startswith("HOLON_")]:
            del self.environment[name]
        started = subprocess.run([binary, "start", "--bg", "--resources", "node=1/core=4", "--state-dir", folder + "/state"],
                                 env=self.environment, stdout=subprocess.PIPE, check=True, text=True)
        self.environment["HOLON_URI"] = started.stdout.split()[-1]
        self.fifo = folder + "/gate"
        os.mkfifo(self.fifo)

    def spawn(self, *words):
        quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
        return os.posix_spawn(self.binary, [self.binary, *words], self.environment, file_actions=quiet)

    def ms(self, *words):
        began = time.perf_counter()
        pid = self.spawn(*words)
        _, status, used = os.wait4(pid, 0)
        ended = time.perf_counter()
        if status != 0:
            sys.exit("%s %s: status %d" % (self.binary, " ".join(words), status))
        return (ended - began) * 1000, (used.ru_utime + used.ru_stime) * 1000

    def batch_ms(self):
        began = time.perf_counter()
        pid = self.spawn("batch", "-n1", "--wrap", "sh", "-c", "echo here >" + self.fifo)
        with open(self.fifo) as gate:
            gate.readline()
        ended = time.perf_counter()
        _, _, used = os.wait4(pid, 0)
        subprocess.run([self.binary, "job", "wait", "--all"], env=self.environment, check=True)
        return (ended - began) * 1000, (used.ru_utime + used.ru_stime) * 1000

    def weights(self):
        """kB (rss, pss) of each process of the instance, by its verb."""
        weights = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid) as file:
                    words = file.read().split("\0")
                if os.readlink("/proc/%s/exe" % pid) != os.path.realpath(self.binary) or len(words) < 2:
                    continue
                with open("/proc/%s/environ" % pid) as file:
                    if self.folder not in file.read():
                        continue
                with open("/proc/%s/smaps_rollup" % pid) as file:
                    numbers = {line.split(":")[0]: int(line.split()[1]) for line in file if line.startswith(("Rss:", "Pss:"))}
                weights[words[1]] = (numbers["Rss"], numbers["Pss"])
            except OSError:
                continue
        return weights

    def end(self):
        subprocess.run([self.binary, "shutdown"], env=self.environment, check=False, stdout=subprocess.DEVNULL)


COMMANDS = {"version": ["version"], "jobs": ["jobs"], "submit": ["submit", "true"], "run true": ["run", "true"]}


def main(binaries, rounds):
    folder = tempfile.mkdtemp(prefix="holon-two-")
    builds = [Build(os.path.abspath(binary), "%s/%d" % (folder, n)) for n, binary in enumerate(binaries)]
    try:
        weights = [build.weights() for build in builds]
        figures = {name: ([], []) for name in [*COMMANDS, "batch"]}
        for number in range(rounds):
            for name, words in COMMANDS.items():
                for which in (0, 1) if number % 2 == 0 else (1, 0):
                    figures[name][which].append(builds[which].ms(*words))
            if number % 5 == 0:
                for which in (0, 1):
                    figures["batch"][which].append(builds[which].batch_ms())
        for name, both in figures.items():
            print("%-9s %s" % (name, "   ".join("%7.2f (%.2f) cpu %.2f (%.2f)" % tuple(
                value for column in zip(*one) for value in (statistics.median(column), min(column))) for one in both)))
        for verb in sorted(set(weights[0]) | set(weights[1])):
            print("%-9s %s" % (verb, "   ".join("rss %d kB, pss %d kB" % one.get(verb, (0, 0)) for one in weights)))
        print("bytes     " + "   ".join(str(os.stat(build.binary).st_size) for build in builds))
    finally:
        for build in builds:
            build.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(sys.argv[1:3], int(sys.argv[3]) if len(sys.argv) == 4 else 60)
