#!/usr/bin/env python3
"""An array of `true` beside `xargs -n1 true`, by turns: how much of the machine's rate a task keeps that is scheduled.

    bench/beside_xargs.py [--holon build/release/bin/holon] [--tasks 2000] [--rounds 5] [--places 2 3 4]

The first instance has this machine. One more for each of --places has a declared node of so many cores: as many tasks
run side by side, bound to nothing. With as many places as the machine has cores this tells what binding costs; with
more, what there would be to gain if the next task of a core did not wait for the broker: its agent always has one.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent


def seconds(*commands):
    begin = time.monotonic()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def used_ms(pid):
    """Processor time of the main thread, which does all the work of a broker and of an agent."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e6


def processes_of(folder):
    """The broker and the agent of the instance that lives in `folder`, by these words."""
    found = {}
    for proc in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (proc / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if len(words) > 1 and words[1] in ("broker", "agent") and folder in " ".join(words):
            found[words[1]] = int(proc.name)
    return found


def measure(args, resources):
    folder = tempfile.mkdtemp()
    for name in [n for n in os.environ if n.startswith("HOLON_")]:
        del os.environ[name]  # of an instance around this one
    os.environ.update(HOME=folder, XDG_RUNTIME_DIR=folder, TMPDIR=folder)
    shape = ["--resources", resources] if resources else []
    subprocess.run([args.holon, "start", "--bg", "--state-dir", folder + "/state", *shape], check=True,
                   stdout=subprocess.DEVNULL)
    try:
        pids = processes_of(folder)
        array = [args.holon, "submit", "--array", f"1-{args.tasks}", "true"]
        wait = [args.holon, "job", "wait", "--all"]
        other = ["sh", "-c", f"seq {args.tasks} | xargs -P{os.cpu_count()} -n1 true"]
        seconds(array, wait)  # what is done once is not counted
        before = {word: used_ms(pid) for word, pid in pids.items()}
        rounds = [(args.tasks / seconds(array, wait), args.tasks / seconds(other)) for _ in range(args.rounds)]
        cost = {word: (used_ms(pid) - before[word]) / args.tasks / args.rounds for word, pid in pids.items()}
    finally:
        subprocess.run([args.holon, "shutdown"], check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)
    ratios = [ours / theirs for ours, theirs in rounds]
    print(f"{resources or 'this machine':16} {statistics.median(r[0] for r in rounds):7.0f}/s  "
          f"xargs {statistics.median(r[1] for r in rounds):7.0f}/s  "
          f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})  "
          + "  ".join(f"{word} {ms:.3f} ms" for word, ms in sorted(cost.items())), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holon", default=str(HERE / "build/release/bin/holon"))
    parser.add_argument("--tasks", type=int, default=2000, help="of each array (2000)")
    parser.add_argument("--rounds", type=int, default=5, help="arrays, each beside xargs (5)")
    parser.add_argument("--places", type=int, nargs="*", default=[2, 3, 4], help="cores of declared nodes (2 3 4)")
    args = parser.parse_args()
    for resources in ["", *(f"node=1/core={n}" for n in args.places)]:
        measure(args, resources)


main()
