#!/usr/bin/env python3
"""campaign.py BINARY [--tasks N] [--graph] [--kills N] [--fail-every N] [--seed N] [--cores N] [--conf KEY=VALUE]...
    [--most-memory MIB] [--most-journal BYTES]

A campaign of N tasks, as one array or as the graph of one file, of which one in --fail-every fails the first time and is run
again. On the way the broker or the agent is sent SIGKILL, --kills times, each in turn. When all are over it is looked whether

  lost      tasks without an end, or with another one than COMPLETED
  often     tasks that ran more often than their record says (once, and once for each retry), or not at all
  early     tasks of a graph that ran before the one they wait for had ended

and the exit code is 1 if there was any, or if the broker had more memory, or the journal more bytes a task, than it may. What it took is printed: the submission, the rate by tenths, the broker's memory at its
greatest, the journal's size.
"""
import argparse, json, os, random, shutil, signal, subprocess, sys, tempfile, time

# Writes down that it ran, in one write; fails the first time where it is one that does.
TASK = """n={number}
echo $n >>{dir}/runs
case $n in *{fails}) [ -e {dir}/failed/$n ] || { : >{dir}/failed/$n; exit 1; };; esac
echo $n >>{dir}/ends
"""


class Campaign:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.dir = tempfile.mkdtemp(prefix="holon-campaign-", dir=options.dir)
        for name in ("run", "failed"):
            os.makedirs(f"{self.dir}/{name}", mode=0o700)
        self.holon = f"{self.dir}/holon"  # a name of its own for this instance's processes
        shutil.copy(os.path.realpath(options.binary), self.holon)
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.dir, "TMPDIR": f"{self.dir}/run", "XDG_RUNTIME_DIR": f"{self.dir}/run"}
        self.env |= {name: os.environ[name] for name in ("HWLOC_PLUGINS_PATH", "HWLOC_COMPONENTS") if name in os.environ}
        self.state = f"{self.dir}/state"
        self.peak = 0  # KiB
        self.killed = 0

    def ask(self, *words):
        done = subprocess.run([self.holon, *map(str, words)], env=self.env, cwd=self.dir, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise SystemExit(f"holon {' '.join(map(str, words))[:200]}: {done.returncode} {done.stderr.strip()[-500:]}")
        return done.stdout

    def pids(self, verb):
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[0].decode(errors="replace") == self.holon and len(words) > 1 and words[1].decode() == verb:
                found.append(int(name))
        return found

    # False: it has just ended by itself.
    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def look_at_memory(self):
        for pid in self.pids("broker"):
            try:
                with open(f"/proc/{pid}/status") as file:
                    lines = dict(line.split(":", 1) for line in file if ":" in line)
                self.peak = max(self.peak, int(lines["VmHWM"].split()[0]))
            except (OSError, KeyError):
                pass

    def start(self):
        conf = [word for pair in self.options.conf for word in ("--conf", pair)]
        self.env["HOLON_URI"] = self.ask("start", "--bg", "--resources", f"node=1/core={self.options.cores}", "--state-dir",
                                         self.state, *conf).strip()

    def task(self, number):
        fails = str(self.options.fail_every)[1:] if self.options.fail_every else "none"
        return TASK.replace("{number}", number).replace("{dir}", self.dir).replace("{fails}", fails)

    def submit(self):
        n = self.options.tasks
        begun = time.monotonic()
        again = ["--requeue", "20", "--retry-on", "1"]
        if not self.options.graph:
            self.ask("submit", "--array", f"1-{n}", *again, "sh", "-c", self.task("$HOLON_ARRAY_INDEX"))
        else:
            width = max(1, n // 20)  # chains of twenty
            # A script of its own: 100,000 times its text is more than one message may have.
            with open(f"{self.dir}/task", "w") as file:
                file.write(self.task("$1"))
            tasks = []
            for i in range(1, n + 1):
                task = {"name": f"t{i}", "command": ["sh", "task", str(i)]}
                if i > width:
                    task["afterok"] = f"t{i - width}"
                tasks.append(task)
            with open(f"{self.dir}/graph.json", "w") as file:
                json.dump({"defaults": {"requeue": 20, "retry-on": "1"}, "task": tasks}, file)
            begun = time.monotonic()
            self.ask("submit", "--file", "graph.json")
        print(f"submitted {n} tasks in {time.monotonic() - begun:.3f} s", flush=True)

    def ended(self):
        try:
            with open(f"{self.dir}/ends", "rb") as file:
                return file.read().count(b"\n") if self.options.tasks < 20_000 else file.seek(0, 2)
        except FileNotFoundError:
            return 0

    # How much of the campaign is over, by what the tasks have written: nobody is asked for it.
    def share(self):
        whole = self.options.tasks
        if whole >= 20_000:
            whole = sum(len(str(i)) + 1 for i in range(1, whole + 1)) if not hasattr(self, "whole") else self.whole
            self.whole = whole
        return self.ended() / whole

    def run(self):
        kills = [(i + 1) / (self.options.kills + 1) for i in range(self.options.kills)]
        tenth, since = 1, time.monotonic()
        waiting = subprocess.Popen([self.holon, "job", "wait", "--all"], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while waiting.poll() is None:
            time.sleep(0.05)
            share = self.share()
            if kills and share >= kills[0]:
                kills.pop(0)
                self.look_at_memory()
                for pid in self.pids(self.random.choice(["broker", "agent"])):
                    self.killed += self.kill(pid)
            if share >= tenth / 10:
                now = time.monotonic()
                print(f"{10 * tenth} %: {self.options.tasks / 10 / (now - since):.0f} tasks/s", flush=True)
                since, tenth = now, tenth + 1
                self.look_at_memory()
        self.look_at_memory()
        if waiting.returncode not in (0, 1):
            print("job wait:", waiting.returncode, waiting.stderr.read().strip()[-300:])

    def check(self):
        n = self.options.tasks
        lost = often = early = retries_in_all = 0
        where = ["1", "--tasks"] if not self.options.graph else []
        listed = self.ask("jobs", *where, "-a", "--format", "id,state,retries").splitlines()[1:]
        records = {}
        for line in listed:
            number, state, retries = line.split()
            if not self.options.graph and "." not in number:
                continue
            records[int(number.split(".")[-1].split("/")[-1])] = (state, int(retries) if retries.isdigit() else 0)
        for i in range(1, n + 1):
            state, retries = records.get(i, ("none", 0))
            lost += state != "COMPLETED"
            retries_in_all += retries
        runs, order = {}, {}
        with open(f"{self.dir}/runs") as file:
            for place, line in enumerate(file):
                runs[int(line)] = runs.get(int(line), 0) + 1
                order[int(line)] = place
        for i in range(1, n + 1):
            retries = records.get(i, ("none", 0))[1]
            # What was killed with its agent before its first line has not run.
            often += not 1 <= runs.get(i, 0) <= 1 + retries
        if self.options.graph:
            width = max(1, n // 20)
            early = sum(order.get(i, -1) < order.get(i - width, -1) for i in range(width + 1, n + 1))
        self.ask("shutdown")
        size = sum(os.path.getsize(f"{self.state}/{name}") for name in os.listdir(self.state) if name.startswith("journal.db"))
        files = sum(len(names) for _, _, names in os.walk(f"{self.state}/output"))
        print(f"killed {self.killed} processes, {retries_in_all} retries; broker {self.peak / 1024:.0f} MiB at most; journal {size / n:.0f} "
              f"bytes a task; {files} files of output")
        print(f"lost {lost}, often {often}, early {early}")
        large = [f"{what}: {found:.0f}, at most {most} was asked for"
                 for what, found, most in (("MiB of the broker", self.peak / 1024, self.options.most_memory),
                                           ("bytes of the journal a task", size / n, self.options.most_journal))
                 if most and found > most]
        for line in large:
            print(line)
        return lost + often + early + len(large) == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--tasks", type=int, default=5_000)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--fail-every", type=int, default=100, choices=[0, 10, 100, 1000])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-memory", type=int, default=0)
    parser.add_argument("--most-journal", type=int, default=0)
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--dir", default=None)
    options = parser.parse_args()
    campaign = Campaign(options)
    try:
        campaign.start()
        campaign.submit()
        campaign.run()
        good = campaign.check()
    finally:
        for verb in ("start", "broker", "agent"):
            for pid in campaign.pids(verb):
                campaign.kill(pid)
    if good:
        shutil.rmtree(campaign.dir, ignore_errors=True)
    else:
        print("kept:", campaign.dir)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
