#!/usr/bin/env python3
"""largest.py [BINARY] [--only WORDS] [--size N] [--json FILE] [--most MS]

The largest of each request whose size a user chooses, and what another client of the instance notices of it: `jobs` of one job is asked
for every 5 ms meanwhile. Of each request: how long it takes, processor time of the broker until it is idle again, and the median, the
99th percentile and the most of those listings, in ms. A listing that was due while an earlier one waited counts with the time that it
would have waited, so that one long turn of the broker is not one slow listing of many.

--only: requests whose names match a regular expression. --size: a share of the sizes, 0.1 for a tenth. Exit code 1: a 99th percentile is above --most,
a request failed or took longer than 150 s, or none matched.
"""
import argparse, contextlib, json, multiprocessing, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time

EVERY = 0.005  # s between two listings
LONGEST = 150  # s for one request, with what is made for it
REQUESTS = []  # (name, conf, shape, function), in the order in which they are run


def request(name, conf=(), shape="node=2/core=4"):
    def add(function):
        REQUESTS.append((name, conf, shape, function))
        return function
    return add


class Instance:
    def __init__(self, binary, conf, shape):
        self.dir = tempfile.mkdtemp(prefix="holon-largest-")
        self.holon = f"{self.dir}/holon"  # a name of its own for this instance's processes
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.dir, "TMPDIR": self.dir, "XDG_RUNTIME_DIR": self.dir}
        words = ["start", "--bg", "--state-dir", f"{self.dir}/state", "--resources", shape]
        try:
            shutil.copy(binary, self.holon)
            self.uri = self.ask(*words, *(word for key in conf for word in ("--conf", key))).strip()
            self.env["HOLON_URI"] = self.uri
            self.broker = self.find("broker")
        except BaseException:
            self.end()
            raise

    def find(self, role):
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if words[0] == self.holon and words[1:2] == [role]:
                return int(name)
        raise SystemExit(f"largest.py: there is no {role}")

    def ask(self, *words):
        return subprocess.run([self.holon, *words], env=self.env, check=True, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout

    # Where the answer is too long to be of interest.
    def look(self, *words):
        subprocess.run([self.holon, *words], env=self.env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def submit(self, *words):
        return int(self.ask("submit", *words).split()[-1].split("-")[-1])

    def write(self, name, text):
        with open(f"{self.dir}/{name}", "w") as file:
            file.write(text)
        return f"{self.dir}/{name}"

    def processor_time(self):
        with open(f"/proc/{self.broker}/schedstat") as file:
            return int(file.read().split()[0]) / 1e6

    # Until the broker has next to nothing to do.
    def settle(self):
        quiet, before = 0, self.processor_time()
        while quiet < 3:
            time.sleep(0.1)
            now = self.processor_time()
            quiet = quiet + 1 if now - before < 20 else 0
            before = now

    def end(self):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run([self.holon, "shutdown"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LONGEST)
        shutil.rmtree(self.dir, ignore_errors=True)


# Lists job 1 until it is told to end: (when, how long), in s.
def listen(uri, python, pipe):
    sys.path.insert(0, python)
    import holon
    from holon.messages import JobsRequest
    with holon.Instance.connect(uri) as instance:
        seen, due = [], time.monotonic()
        pipe.send("ready")
        while not pipe.poll():
            begin = time.monotonic()
            try:
                instance.request("jobs", JobsRequest(ids=[1]), timeout=600)
            except holon.HolonError:  # a broker that starts again: the time counts
                pass
            end = time.monotonic()
            seen.append((begin, end - begin))
            due = max(due + EVERY, end)
            time.sleep(max(0, due - time.monotonic()))
        pipe.send(seen)


def waits_between(seen, begin, end):
    waits = []
    for when, took in seen:
        if when + took < begin or when > end:
            continue
        waits.append(took)
        while took > 2 * EVERY:  # those that were due meanwhile
            took -= EVERY
            waits.append(took)
    return sorted(wait * 1e3 for wait in waits) or [0.0]


# A process that lists, and its pipe; where the request fails it is ended, too.
@contextlib.contextmanager
def listening(instance, python):
    ours, theirs = multiprocessing.Pipe()
    listener = multiprocessing.Process(target=listen, args=(instance.uri, python, theirs), daemon=True)
    listener.start()
    theirs.close()
    try:
        ours.recv()
        yield ours
        listener.join()
    finally:
        listener.kill()
        listener.join()
        ours.close()


def measure(instance, work, python):
    with listening(instance, python) as pipe:
        instance.settle()
        before, begin = instance.processor_time(), time.monotonic()
        work()
        took = time.monotonic() - begin
        instance.settle()
        used, end = instance.processor_time() - before, time.monotonic()
        pipe.send("end")
        waits = waits_between(pipe.recv(), begin, end)
    return {"took": took * 1e3, "broker": used, "median": statistics.median(waits), "p99": waits[int(len(waits) * 0.99)], "most": waits[-1]}


# ---- what is asked: each function makes ready, and returns what is measured ----

HELD = ["--urgency", "0"]


def many(instance, size, *words):
    last = instance.submit("--count", str(size), *words, "true")
    return list(range(last - size + 1, last + 1))


def by_python(instance, topic, **fields):
    import holon
    with holon.Instance.connect(instance.uri) as client:
        client.request(topic, holon.messages.TOPICS[topic].request(**fields), timeout=600)


@request("submit --count 1000000")
def submit_count(instance, size):
    return lambda: instance.submit(*HELD, "--count", str(int(1_000_000 * size)), "true")


@request("submit of an array of a million")
def submit_array(instance, size):
    return lambda: instance.submit(*HELD, "--array", f"1-{int(1_000_000 * size)}", "true")


@request("submit with 10,000 dependencies")
def submit_dependencies(instance, size):
    ids = many(instance, int(10_000 * size), *HELD)
    words = [word for job in ids for word in ("--dependency", f"afterany:{job}")]
    return lambda: instance.submit(*words, "true")


@request("submit with 10,000 dependencies on jobs that are over")
def submit_met(instance, size):
    ids = many(instance, int(10_000 * size), *HELD)
    instance.ask("cancel", f"{ids[0]}-{ids[-1]}")
    words = [word for job in ids for word in ("--dependency", f"afterany:{job}")]
    return lambda: instance.submit(*HELD, *words, "true")


@request("10,000 dependencies that end one by one")
def end_awaited(instance, size):
    ids = many(instance, int(10_000 * size), *HELD)
    for _ in range(4):
        instance.submit(*HELD, *(word for job in ids for word in ("--dependency", f"afterany:{job}")), "true")
    return lambda: instance.ask("cancel", f"{ids[0]}-{ids[-1]}")


def graph(instance, name, tasks):
    return instance.write(name, json.dumps({"task": tasks}))


@request("submit of a graph of 100,000, a chain")
def submit_chain(instance, size):
    tasks = [{"name": f"t{i}", "command": ["true"], "urgency": 0, **({"afterok": f"t{i - 1}"} if i else {})} for i in range(int(100_000 * size))]
    path = graph(instance, "graph.json", tasks)
    return lambda: instance.look("submit", "--file", path)


@request("submit of a graph of 20,000, no two alike")
def submit_graph(instance, size):
    tasks = [{"name": f"t{i}", "command": ["true", str(i)], "urgency": 0, "time": f"{i + 1}s"} for i in range(int(20_000 * size))]
    path = graph(instance, "graph.json", tasks)
    return lambda: instance.look("submit", "--file", path)


@request("the first of a chain of 20,000 is cancelled")
def cancel_chain(instance, size):
    tasks = [{"name": f"t{i}", "command": ["true"], **({"afterok": f"t{i - 1}"} if i else {"urgency": 0})} for i in range(int(20_000 * size))]
    instance.look("submit", "--file", graph(instance, "graph.json", tasks))
    return lambda: instance.ask("cancel", "2")


@request("20,000 that can never run as one is cancelled")
def cancel_awaited(instance, size):
    first = instance.submit(*HELD, "true")
    instance.submit("--count", str(int(20_000 * size)), "--dependency", f"afterok:{first}", "true")
    return lambda: instance.ask("cancel", str(first))


@request("20,000 that may run as one is cancelled")
def release_awaiting(instance, size):
    first = instance.submit(*HELD, "true")
    instance.submit("--count", str(int(20_000 * size)), "--dependency", f"afterany:{first}", "-t", "1h", "sleep", "3600")
    return lambda: instance.ask("cancel", str(first))


@request("cancel of 100,000 by their numbers")
def cancel_numbers(instance, size):
    ids = many(instance, int(100_000 * size), *HELD)
    return lambda: instance.ask("cancel", f"{ids[0]}-{ids[-1]}")


@request("cancel --all of 100,000 that wait")
def cancel_all(instance, size):
    many(instance, int(100_000 * size))
    return lambda: instance.ask("cancel", "--all")


@request("cancel of 999,996 tasks of a million")
def cancel_range(instance, size):
    n = int(1_000_000 * size)
    array = instance.submit(*HELD, "--array", f"1-{n}", "true")
    return lambda: instance.ask("cancel", f"{array}.5-{n}")


@request("cancel of every second task of a million")
def cancel_holes(instance, size):
    n = int(1_000_000 * size)
    array = instance.submit(*HELD, "--array", f"1-{n}", "true")
    numbers = ",".join(str(array + i) for i in range(1, n + 1, 2))
    return lambda: by_python(instance, "cancel", numbers=numbers)


@request("forgetting an array of a million", conf=["journal.keep=1000"])
def forget(instance, size):
    instance.ask("cancel", str(instance.submit(*HELD, "--array", f"1-{int(1_000_000 * size)}", "true")))
    array = instance.submit(*HELD, "--array", f"1-{int(1_000_000 * size)}", "true")
    return lambda: instance.ask("cancel", str(array))


@request("forgetting 100,000 jobs", conf=["journal.keep=1000"])
def forget_jobs(instance, size):
    ids = many(instance, int(100_000 * size), *HELD)
    return lambda: instance.ask("cancel", f"{ids[0]}-{ids[-1]}")


@request("hold 10,000")
def hold(instance, size):
    instance.submit("-c", "4", "-N", "2", "sleep", "3600")
    ids = many(instance, int(10_000 * size), "-t", "1h")
    return lambda: by_python(instance, "urgency", ids=ids, urgency=0)


@request("release 10,000")
def release(instance, size):
    instance.submit("-c", "4", "-N", "2", "sleep", "3600")
    ids = many(instance, int(10_000 * size), *HELD, "-t", "1h")
    return lambda: by_python(instance, "urgency", ids=ids, urgency=16)


@request("urgency of 10,000, backwards")
def urgency(instance, size):
    instance.submit("-c", "4", "-N", "2", "sleep", "3600")
    ids = many(instance, int(10_000 * size), "-t", "1h")
    return lambda: by_python(instance, "urgency", ids=ids[::-1], urgency=17)


@request("urgency of an array of a million")
def urgency_array(instance, size):
    array = instance.submit(*HELD, "--array", f"1-{int(1_000_000 * size)}", "true")
    return lambda: by_python(instance, "urgency", ids=[array], urgency=1)


@request("urgency of 10,000 tasks of an array, each by itself")
def urgency_tasks(instance, size):
    n = int(10_000 * size)
    array = instance.submit(*HELD, "--array", f"1-{2 * n}", "true")
    return lambda: by_python(instance, "urgency", ids=[array + 2 * i for i in range(1, n + 1)], urgency=0)


@request("update of the limit of 10,000")
def update(instance, size):
    instance.submit("-c", "4", "-N", "2", "sleep", "3600")
    ids = many(instance, int(10_000 * size), "-t", "1h")
    return lambda: by_python(instance, "job.update", ids=ids, limit=7_200_000)


@request("update of the urgency of 10,000")
def update_urgency(instance, size):
    instance.submit("-c", "4", "-N", "2", "sleep", "3600")
    ids = many(instance, int(10_000 * size), "-t", "1h")
    return lambda: by_python(instance, "job.update", ids=ids, urgency=18)


@request("update of 10,000 of a graph, no two alike")
def update_graph(instance, size):
    tasks = [{"name": f"t{i}", "command": ["true", str(i)], "urgency": 0, "time": f"{i + 1}s"} for i in range(int(10_000 * size))]
    instance.look("submit", "--file", graph(instance, "graph.json", tasks))
    return lambda: by_python(instance, "job.update", ids=list(range(2, len(tasks) + 2)), limit=7_200_000)


@request("retry of 100,000 tasks that were cancelled")
def retry(instance, size):
    array = instance.submit(*HELD, "--array", f"1-{int(100_000 * size)}", "true")
    instance.ask("cancel", str(array))
    return lambda: instance.ask("retry", str(array))


WIDE = "node=1000/core=4"


@request("drain of 1,000 nodes, 10,000 that wait, 1,000 reservations", conf=["queue.policy=conservative", "queue.depth=10000"], shape=WIDE)
def drain(instance, size):
    instance.submit("-N", "1000", "-c", "4", "-t", "1h", "sleep", "3600")
    many(instance, int(10_000 * size), "-c", "4", "-t", "1h")
    return lambda: by_python(instance, "resource.drain", hosts="node[0-998]", reason="x")


@request("undrain of 1,000 nodes, 10,000 that wait, 1,000 reservations", conf=["queue.policy=conservative", "queue.depth=10000"], shape=WIDE)
def undrain(instance, size):
    instance.submit("-N", "1000", "-c", "4", "-t", "1h", "sleep", "3600")
    many(instance, int(10_000 * size), "-c", "4", "-t", "1h")
    by_python(instance, "resource.drain", hosts="node[0-998]", reason="x")
    return lambda: by_python(instance, "resource.drain", hosts="node[0-998]", drain=False)


@request("drain of one node, 10,000 that wait", conf=["queue.policy=easy", "queue.depth=10000"], shape=WIDE)
def drain_easy(instance, size):
    instance.submit("-N", "1000", "-c", "4", "-t", "1h", "sleep", "3600")
    many(instance, int(10_000 * size), "-c", "4", "-t", "1h")
    return lambda: by_python(instance, "resource.drain", hosts="node7", reason="x")


@request("jobs --all of 100,000")
def list_all(instance, size):
    many(instance, int(100_000 * size), *HELD)
    return lambda: instance.look("jobs", "--all", "--json")


@request("jobs --tasks of 300,000 that are over")
def list_tasks(instance, size):
    instance.ask("cancel", str(instance.submit(*HELD, "--array", f"1-{int(300_000 * size)}", "true")))
    return lambda: instance.look("jobs", "--all", "--tasks", "--json")


@request("explain of 10,000 that wait", shape=WIDE)
def explain(instance, size):
    instance.submit("-N", "1000", "-c", "4", "-t", "1h", "sleep", "3600")
    many(instance, int(10_000 * size), "-c", "4", "-t", "1h")
    return lambda: instance.look("explain", "--json")


@request("plan of 10,000 reservations", conf=["queue.policy=conservative", "queue.depth=10000"], shape=WIDE)
def plan(instance, size):
    instance.submit("-N", "1000", "-c", "4", "-t", "1h", "sleep", "3600")
    many(instance, int(10_000 * size), "-c", "4", "-t", "1h")
    return lambda: instance.look("plan", "--json")


@request("priority of 100,000")
def priority(instance, size):
    instance.submit("-c", "4", "-N", "2", "sleep", "3600")
    many(instance, int(100_000 * size), "-t", "1h")
    return lambda: instance.look("priority", "--json")


@request("history of 100,000")
def history(instance, size):
    ids = many(instance, int(100_000 * size), *HELD)
    instance.ask("cancel", f"{ids[0]}-{ids[-1]}")
    return lambda: instance.look("history", "--json")


@request("job wait --all of 100,000, which are cancelled")
def wait_all(instance, size):
    many(instance, int(100_000 * size), *HELD)
    waits = subprocess.Popen([instance.holon, "job", "wait", "--all"], env=instance.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end():
        instance.ask("cancel", "--all")
        waits.wait()
    return end


@request("job info of one with 10,000 dependencies")
def info(instance, size):
    ids = many(instance, int(10_000 * size), *HELD)
    job = instance.submit(*HELD, *(word for job in ids for word in ("--dependency", f"afterany:{job}")), "true")
    return lambda: instance.look("job", "info", str(job))


@request("events from the beginning of 100,000")
def events(instance, size):
    ids = many(instance, int(100_000 * size), *HELD)
    instance.ask("cancel", f"{ids[0]}-{ids[-1]}")
    return lambda: follow(instance)


def follow(instance):
    import holon
    with holon.Instance.connect(instance.uri) as client:
        for part in client.events(all=True):
            if part.cursor:
                return


@request("policy what-if of 20,000")
def what_if(instance, size):
    instance.submit("-c", "4", "-N", "2", "-t", "2h", "sleep", "3600")
    many(instance, int(20_000 * size), "-t", "1h")
    return lambda: by_python(instance, "policy.what-if", policy="easy")


@request("another policy for 20,000 that wait")
def load_policy(instance, size):
    instance.submit("-c", "4", "-N", "2", "-t", "2h", "sleep", "3600")
    many(instance, int(20_000 * size), "-t", "1h")
    return lambda: by_python(instance, "policy.load", policy="conservative")


@request("stop and start of a queue of 100,000")
def gate(instance, size):
    instance.submit("-c", "4", "-N", "2", "-t", "2h", "sleep", "3600")
    many(instance, int(100_000 * size), "-t", "1h")

    def work():
        by_python(instance, "queue.gate", gate="start", open=False)
        by_python(instance, "queue.gate", gate="start", open=True)
    return work


def jobspec(**system):
    return json.dumps({"version": 1, "resources": [{"type": "slot", "count": 1, "label": "t", "with": [{"type": "core", "count": 1}]}],
                       "tasks": [{"command": ["true"], "slot": "t", "count": {"per_slot": 1}}],
                       "attributes": {"system": {"duration": 60, **system}}})


@request("submit with an environment of 65,000 variables")
def environment(instance, size):
    text = jobspec(environment={f"V{i}": "x" * 30 for i in range(int(65_000 * size))})
    return lambda: by_python(instance, "submit", jobspec=text, urgency=0)


@request("submit of an array with 130,000 entries")
def entries(instance, size):
    path = instance.write("lines", "".join(f"an entry of some length {i}\n" for i in range(int(130_000 * size))))
    return lambda: instance.submit(*HELD, "--each-line", path, "echo", "{{entry}}")


@request("100,000 more tasks of an open array")
def extend(instance, size):
    array = instance.submit(*HELD, "--open", "--array", "1-2", "true")
    return lambda: by_python(instance, "job.extend", id=array, tasks=int(100_000 * size))


@request("task by task behind 100,000 that are cancelled")
def counterparts(instance, size):
    n = int(100_000 * size)
    first = instance.submit(*HELD, "--array", f"1-{n}", "true")
    for scheme in ("aftercorr", "afterany", "afternotok"):
        instance.submit(*HELD, "--array", f"1-{n}", "--dependency", f"{scheme}:{first}", "true")
    return lambda: instance.ask("cancel", str(first))


@request("a signal to 1,000 that run", shape="node=1/core=1000")
def signal_jobs(instance, size):
    ids = running(instance, int(1000 * size))
    return lambda: by_python(instance, "job.signal", ids=ids, signal=int(signal.SIGCONT))


@request("suspend of 1,000 that run", shape="node=1/core=1000")
def suspend(instance, size):
    ids = running(instance, int(1000 * size))
    return lambda: by_python(instance, "job.suspend", ids=ids)


@request("cancel of 1,000 that run", shape="node=1/core=1000")
def cancel_running(instance, size):
    ids = running(instance, int(1000 * size))
    return lambda: instance.ask("cancel", f"{ids[0]}-{ids[-1]}")


@request("the end of the node of 1,000 that run again", shape="node=1/core=1000")
def requeue(instance, size):
    ids = running(instance, int(1000 * size), "--requeue", "3")
    agent = instance.find("agent")
    return lambda: os.kill(agent, signal.SIGKILL)


def running(instance, size, *words):
    last = instance.submit("--count", str(size), *words, "sleep", "3600")
    ids = list(range(last - size + 1, last + 1))
    while True:  # until their tasks are there
        jobs = json.loads(instance.ask("jobs", "--json", *map(str, ids)))["jobs"]
        if sum(1 for job in jobs if job.get("t_start", 0) > 0) >= size:
            return ids
        time.sleep(0.5)


@request("2,000 advance reservations taken back", shape="node=64/core=4")
def unreserve(instance, size):
    import holon
    ids, begin = [], (int(time.time()) + 86_400) * 1000
    with holon.Instance.connect(instance.uri) as client:
        make = holon.messages.TOPICS["reserve"].request
        for i in range(int(2000 * size)):
            ids.append(client.request("reserve", make(jobspec=jobspec(), begin=begin + 60_000 * i, end=begin + 60_000 * (i + 1), name=f"r{i}")).id)
    return lambda: by_python(instance, "unreserve", ids=ids)


@request("configuration read again, 50,000 that wait")
def reload_config(instance, size):
    many(instance, int(50_000 * size), *HELD)
    return lambda: by_python(instance, "config.reload")


# Measures one request; None: it failed, which is told in its line. Its instance is ended in any case.
def run(entry, binary, options):
    name, conf, shape, function = entry
    instance = None
    try:
        signal.alarm(LONGEST)
        instance = Instance(binary, conf, shape)
        instance.submit(*HELD, "true")  # job 1, which is listed meanwhile
        found = measure(instance, function(instance, options.size), options.python)
        print(f"{name:64} {found['took']:9.0f} {found['broker']:9.0f} {found['median']:7.1f} {found['p99']:8.1f} {found['most']:8.1f}", flush=True)
        return found
    except (Exception, SystemExit) as error:
        print(f"{name:64} FAILED: {str(error)[:160]}", flush=True)
    finally:
        signal.alarm(0)
        if instance:
            instance.end()


# Why the exit code is not 0; "": it is.
def fault_of(results, most):
    if not results:
        return "no request has that name"
    failed = [f"{name}: failed" for name, found in results.items() if not found]
    return "; ".join(failed + [f"{name}: above {most:g} ms" for name, found in results.items() if found and 0 < most < found["p99"]])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("binary", nargs="?", default=f"{here}/../build/release/bin/holon")
    parser.add_argument("--only", default="")
    parser.add_argument("--size", type=float, default=1)
    parser.add_argument("--json", default="")
    parser.add_argument("--most", type=float, default=0)
    parser.add_argument("--python", default=f"{here}/../build/release/python")
    options = parser.parse_args()
    sys.path.insert(0, options.python)
    print(f"{'request':64} {'took ms':>9} {'broker ms':>9} {'median':>7} {'p99':>8} {'most':>8}")

    def give_up(*_):
        raise TimeoutError(f"not done in {LONGEST} s")
    signal.signal(signal.SIGALRM, give_up)
    results = {entry[0]: run(entry, os.path.realpath(options.binary), options) for entry in REQUESTS if re.search(options.only, entry[0])}
    if options.json:
        with open(options.json, "w") as file:
            json.dump({name: found for name, found in results.items() if found}, file, indent=1)
    fault = fault_of(results, options.most)
    sys.exit(f"largest.py: {fault}" if fault else 0)


if __name__ == "__main__":
    main()
