#!/usr/bin/env python3
"""kill_everything.py BINARY ROUNDS [--tracking cgroup|process] [--seed N] [--tasks-too PERCENT]

A round starts an instance on the state directory of the round before, gives it jobs that leave processes behind in every
way (another session, an empty environment, an orphan), child instances with such jobs among them, and at a random moment
sends SIGKILL to every process of holon below it, in random order and without stopping anything first. As soon as the next
start says that the instance is up, it is looked for

  left      processes of earlier rounds that are still there
  twice     tasks that found their core locked: the lock is held by all of a job's processes, and freed by the kernel
  lost      jobs that were acknowledged and have no record

and the exit code is 1 if there was any.
"""
import argparse, json, os, random, shutil, signal, subprocess, sys, tempfile, time

WAYS = ["", "setsid ", "env -i ", "setsid env -i "]
# Holds the lock of its core in descriptor 9, which everything it starts inherits.
TASK = """exec 9>>{locks}/$HOLON_CORES
flock -n 9 || echo "$HOLON_LINEAGE core $HOLON_CORES" >> {twice}
({way}{sleep} {token} &)
exec {sleep} {time}
"""


def processes():
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                command = [word.decode(errors="replace") for word in file.read().split(b"\0") if word]
            with open(f"/proc/{name}/stat") as file:
                stat = file.read()
        except OSError:
            continue
        if command and stat[stat.rindex(")") + 2] != "Z":
            yield int(name), command


class Loop:
    def __init__(self, options):
        self.options = options
        self.binary = os.path.realpath(options.binary)
        self.random = random.Random(options.seed)
        self.dir = tempfile.mkdtemp(prefix="holon-soak-")
        for name in ("locks", "run"):
            os.makedirs(f"{self.dir}/{name}", mode=0o700)
        # A name of their own for this loop's processes: an empty environment does not hide it.
        self.sleep = f"{self.dir}/sleep"
        shutil.copy(shutil.which("sleep"), self.sleep)
        self.holon = f"{self.dir}/holon"
        shutil.copy(self.binary, self.holon)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.dir, "TMPDIR": f"{self.dir}/run", "XDG_RUNTIME_DIR": f"{self.dir}/run"}
        self.acknowledged, self.checked = set(), set()
        self.counts = dict(rounds=0, killed=0, jobs=0, left=0, twice=0, lost=0, failed_starts=0)

    def ask(self, *words, env=None, timeout=60):
        return subprocess.run([self.holon, *map(str, words)], env=env or self.env, cwd=self.dir, text=True, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def ours(self, name):
        return [pid for pid, command in processes() if command[0] == name]

    def start(self):
        conf = ["--conf", f"job.tracking={self.options.tracking}"]
        begun = self.ask("start", "--bg", "--resources", "node=1/core=8", "--state-dir", f"{self.dir}/state", *conf)
        if begun.returncode:
            self.counts["failed_starts"] += 1
            print("start:", begun.returncode, begun.stderr.strip()[-300:])
            return False
        self.env["HOLON_URI"] = begun.stdout.strip()
        return True

    def submit(self, path, count):
        for _ in range(count):
            script = TASK.format(locks=f"{self.dir}/locks", twice=f"{self.dir}/twice", way=self.random.choice(WAYS), sleep=self.sleep,
                                 token=10_000 + self.counts["rounds"], time=self.random.choice([0.01, 0.1, 1000]))
            self.answer(path, self.ask(*path, "submit", "sh", "-c", script))

    def answer(self, path, answered):
        if answered.returncode:
            return  # an instance that just died, or has not begun
        self.counts["jobs"] += 1
        if not path:  # what a child acknowledged is its parent's to show later
            self.acknowledged.update(int(word) for word in answered.stdout.split())

    def work(self):
        self.submit([], self.random.randint(1, 3))
        if self.random.random() < 0.5:
            child = self.ask("alloc", "--bg", "-n", 4, "--conf", f"job.tracking={self.options.tracking}")
            self.answer([], child)
            if child.returncode == 0:
                self.submit(["-i", "/" + child.stdout.strip()], self.random.randint(1, 2))
        time.sleep(self.random.choice([0, 0.003, 0.02, 0.1]))

    def kill(self):
        victims = self.ours(self.holon)
        if self.random.random() * 100 < self.options.tasks_too:
            victims += self.ours(self.sleep)
        self.random.shuffle(victims)
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
                self.counts["killed"] += 1
            except ProcessLookupError:
                pass
        while self.ours(self.holon):  # of those that were being started
            for pid in self.ours(self.holon):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def check_records(self):
        answered = self.ask("jobs", "-a", "--json")
        if answered.returncode:
            print("jobs:", answered.stderr.strip()[-200:])
            return
        known = {job["id"] for job in json.loads(answered.stdout)["jobs"]}
        lost = self.acknowledged - self.checked - known
        self.counts["lost"] += len(lost)
        self.checked |= self.acknowledged

    def run(self):
        if not self.start():
            return 1
        for _ in range(self.options.rounds):
            self.counts["rounds"] += 1
            self.work()
            self.kill()
            # Queued jobs of the round before start at once; what is there before they do is left over.
            old = set(self.ours(self.sleep))
            if not self.start():
                return 1
            for pid in old & set(self.ours(self.sleep)):
                self.counts["left"] += 1
                print("left:", pid)
            self.check()
            if self.counts["rounds"] % 50 == 0:
                print(self.counts, flush=True)
        self.ask("cancel", "--all")
        self.check_records()
        self.ask("shutdown")
        end = time.monotonic() + 30
        while time.monotonic() < end and (self.ours(self.holon) or self.ours(self.sleep)):
            time.sleep(0.05)
        self.counts["left"] += len(self.ours(self.sleep)) + len(self.ours(self.holon))
        print(self.counts, flush=True)
        return 1 if any(self.counts[name] for name in ("left", "twice", "lost", "failed_starts")) else 0

    def check(self):
        if os.path.exists(f"{self.dir}/twice"):
            with open(f"{self.dir}/twice") as file:
                found = file.read().splitlines()
            self.counts["twice"] += len(found)
            print("twice:", found[:3])
            os.unlink(f"{self.dir}/twice")
        if self.counts["rounds"] % 20 == 0:
            self.check_records()

    def clean(self):
        for name in (self.holon, self.sleep):
            for pid in self.ours(name):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        shutil.rmtree(self.dir, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("rounds", type=int)
    parser.add_argument("--tracking", default="cgroup", choices=["cgroup", "process"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks-too", type=int, default=20)
    loop = Loop(parser.parse_args())
    try:
        return loop.run()
    finally:
        loop.clean()


if __name__ == "__main__":
    sys.exit(main())
