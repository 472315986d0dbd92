#!/usr/bin/env python3
"""looks.py [BINARY] [--wait N] [--turns N] [--most MS]

What a whole command takes that looks at an instance, or submits to it, while four cores run jobs of `true` as fast as they can and
--wait N wait (100,000): median and most of --turns turns (7), in which each command is run once, and the processor time that the broker
had meanwhile. Exit code 1: a median is above --most (none is looked at without it; not that of a list of all into a pipe, which grows
with them), or fewer than N waited at the end.
"""
import argparse, json, os, pty, shutil, signal, statistics, subprocess, sys, tempfile, time

ON_A_TERMINAL = "(on a terminal)"
ALL_INTO_A_PIPE = ["jobs"]
LOOKS = [["jobs", ON_A_TERMINAL], ALL_INTO_A_PIPE, ["jobs", "--stats"], ["jobs", "--limit", "20"], ["explain", "{last}"], ["job", "info", "{last}"], ["tree"], ["uptime"],
         ["queue", "status"], ["history", "--by", "user"], ["submit", "true"], ["watch"]]
SPARE = 60000  # jobs that run on the way


class Instance:
    def __init__(self, binary):
        self.dir = tempfile.mkdtemp(prefix="holon-looks-")
        self.holon = f"{self.dir}/holon"  # a name of its own for this instance's processes
        shutil.copy(os.path.realpath(binary), self.holon)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.dir, "TMPDIR": self.dir, "XDG_RUNTIME_DIR": self.dir}
        self.ask("start", "--bg", "--state-dir", f"{self.dir}/state", "--resources", "node=1/core=4")

    def ask(self, *words):
        return subprocess.run([self.holon, *words], env=self.env, check=True, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE).stdout

    def broker(self):
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if os.path.realpath(words[0]) == self.holon and words[1:2] == ["broker"]:
                return int(name)
        raise SystemExit("looks.py: there is no broker")

    def end(self):
        self.ask("shutdown")
        shutil.rmtree(self.dir)


# ms of processor time that this process has had.
def processor_time(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e6


# Runs the command on a terminal, where it shows what fits somebody who looks.
def show(instance, words):
    screen, theirs = pty.openpty()
    with subprocess.Popen([instance.holon, *words], env=instance.env, stdin=theirs, stdout=theirs):
        os.close(theirs)
        try:
            while os.read(screen, 65536):
                pass
        except OSError:  # they have closed their side
            os.close(screen)


# ms until the command has ended; for one that goes on, until it shows something.
def time_of(instance, words):
    begin = time.monotonic()
    if words[-1] == ON_A_TERMINAL:
        show(instance, words[:-1])
        return (time.monotonic() - begin) * 1e3
    if words[0] != "watch":
        instance.ask(*words)
        return (time.monotonic() - begin) * 1e3
    with subprocess.Popen([instance.holon, *words], env=instance.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as watch:
        watch.stdout.read(1)
        took = (time.monotonic() - begin) * 1e3
        watch.send_signal(signal.SIGTERM)
        watch.stdout.read()
    return took


def measure(instance, options):
    last = instance.ask("submit", "--count", str(options.wait + SPARE), "true").split()[-1].split("-")[-1]
    looks = [[word.format(last=last) for word in words] for words in LOOKS]
    broker = instance.broker()
    times = {" ".join(words): [] for words in looks}
    own = {" ".join(words): [] for words in looks}
    began, ended_before = time.monotonic(), count(instance, "COMPLETED")
    for _ in range(options.turns):
        for words in looks:
            before = processor_time(broker)
            times[" ".join(words)].append(time_of(instance, words))
            own[" ".join(words)].append(processor_time(broker) - before)
    rate = (count(instance, "COMPLETED") - ended_before) / (time.monotonic() - began)
    return times, own, rate


# Jobs in this state.
def count(instance, state):
    return json.loads(instance.ask("jobs", "--stats", "--json"))["counts"].get(state, 0)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binary", nargs="?", default=f"{os.path.dirname(os.path.abspath(__file__))}/../build/release/bin/holon")
    parser.add_argument("--wait", type=int, default=100000)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--most", type=float, default=0)
    options = parser.parse_args()
    instance = Instance(options.binary)
    try:
        times, own, rate = measure(instance, options)
        waited = count(instance, "SCHED")
    finally:
        instance.end()
    print(f"{waited} wait, {rate:.0f} jobs/s run\n{'command':24} {'median ms':>10} {'most':>8} {'broker ms with the jobs':>24}")
    for words, took in times.items():
        print(f"{words:24} {statistics.median(took):10.1f} {max(took):8.1f} {statistics.median(own[words]):24.1f}")
    slow = [words for words, took in times.items() if words != ALL_INTO_A_PIPE[0] and 0 < options.most < statistics.median(took)]
    if slow:
        print(f"above {options.most} ms: {', '.join(slow)}")
    return 1 if slow or waited < options.wait else 0


if __name__ == "__main__":
    sys.exit(main())
