#!/usr/bin/env python3
"""How costs grow: Google Benchmark's JSON to a table, the table to a plot.

  plot.py collect RUN.json... > docs/growth.csv    medians, nanoseconds for one operation: of CPU time,
                                                   of the wall's where a benchmark counts that
  plot.py draw docs/growth.csv docs/growth.svg     log-log, a panel each for what grows with what

Make the runs with --benchmark_repetitions=5 --benchmark_report_aggregates_only=true --benchmark_out=RUN.json.
"""
import csv
import json
import math
import sys

# panel: title, what x counts, series: benchmark -> label
PANELS = [
    ("One match", "nodes",
     {"one_core/first": "1 core, first", "one_core/low": "1 core, low", "one_node/first": "1 node, first",
      "one_node/low": "1 node, low", "16_nodes/first": "16 nodes, first", "16_nodes/low": "16 nodes, low"}),
    ("Planner", "spans",
     {"add_span": "add a span", "rem_span": "remove a span", "earliest_fit_from_random": "earliest start",
      "plan_queue": "earliest start, then add"}),
    ("Allocate or reserve, 1,024 nodes", "jobs planned", {"mix/1024": "mean of all jobs"}),
    ("A pass after an end, 1,024 processors", "jobs pending",
     {"pass_after_an_end/easy": "EASY", "pass_after_an_end/hybrid": "hybrid:64",
      "pass_after_an_end/conservative": "conservative"}),
    ("The same on a resource graph, EASY", "jobs pending, nodes or queue-depth",
     {"graph_pass_after_an_end/easy_by_queue": "by pending jobs (1,024 nodes)",
      "graph_pass_after_an_end/easy_by_nodes": "by nodes (10,000 pending)",
      "graph_pass_after_an_end/easy_by_depth": "by queue-depth (100,000 pending)"}),
    ("A simulated machine that is full (model.py)", "nodes of 32 cores",
     {"simulate/pass": "a pass", "simulate/job": "a job"}),
    ("One broker, tasks that are over at once (agents.cpp)", "agents",
     {"BM_StubbedTasks": "a job of 20,000, decided and reported", "BM_StubbedTasks/run": "a job alone, there and back",
      "BM_StubbedTasks/ready": "from the start until all agents are taken"}),
]
# Benchmarks with several arguments: which of them grows.
GROWING = {"BM_StubbedTasks": 0, "easy_by_queue": 0, "easy_by_nodes": 1, "easy_by_depth": 2}
COLUMNS = 3
COLOURS = ["#1b6ca8", "#d1495b", "#2e8b57", "#8a5fbf", "#c77d0a", "#444444"]
WIDTH, HEIGHT, LEFT, TOP, GAP, LEGEND = 300, 240, 60, 40, 90, 160


def name_and_size(run_name):
    """("mix/1024", "500") of "mix/1024/500/iterations:5"; None for one that does not grow."""
    words = [word for word in run_name.split("/") if ":" not in word and word != "real_time"]
    names = [word for word in words if not word.isdigit()]
    sizes = words[len(names):]
    if not sizes or words[:len(names)] != names:
        return None
    if names[-1] in GROWING:
        return "/".join(names), sizes[GROWING[names[-1]]]
    return "/".join(words[:-1]), sizes[-1]


def collect(files):
    """Rows of (benchmark, size, ns): the time of an iteration, or of one item where it does many."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["benchmark", "size", "ns"])
    for file in files:
        with open(file) as text:
            for run in json.load(text)["benchmarks"]:
                if run.get("aggregate_name") != "median":
                    continue
                grown = name_and_size(run["run_name"])
                if grown is None:
                    continue
                name, size = grown
                per_item = run.get("items_per_second")
                unit = {"ns": 1, "us": 1e3, "ms": 1e6}[run["time_unit"]]
                ns = 1e9 / per_item if per_item else run["cpu_time"] * unit
                out.writerow([name, size, round(ns, 1)])
                for counter, ms in run.items():
                    if counter.endswith("_ms"):
                        out.writerow([f"{name}/{counter.removesuffix('_ms')}", size, round(1e6 * ms, 1)])


def label(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:g} {unit}"
    return f"{ns:g} ns"


def decades(values):
    """The powers of ten around values, as exponents."""
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def panel(out, number, rows):
    title, counted, series = PANELS[number]
    points = {name: sorted((x, y) for n, x, y in rows if n == name) for name in series}
    points = {name: line for name, line in points.items() if line}
    if not points:
        return
    everything = [point for line in points.values() for point in line]
    x_low, x_high = decades([x for x, _ in everything])
    y_low, y_high = decades([y for _, y in everything])
    row, column = divmod(number, COLUMNS)
    left, top = LEFT + column * (WIDTH + GAP), TOP + row * (TOP + HEIGHT + LEGEND)
    bottom = top + HEIGHT

    def at(x, y):
        return (left + (math.log10(x) - x_low) / (x_high - x_low) * WIDTH,
                bottom - (math.log10(y) - y_low) / (y_high - y_low) * HEIGHT)

    out.append(f'<text x="{left}" y="{top - 14}" font-weight="bold">{title}</text>')
    for e in range(x_low, x_high + 1):
        x, _ = at(10**e, 10**y_low)
        out.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{10**e:,}</text>')
    for e in range(y_low, y_high + 1):
        _, y = at(10**x_low, 10**e)
        out.append(f'<path d="M{left} {y:.1f}H{left + WIDTH}" stroke="#ddd"/>'
                   f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{label(10**e)}</text>')
    out.append(f'<text x="{left + WIDTH / 2}" y="{bottom + 34}" text-anchor="middle">{counted}</text>')
    for i, (name, line) in enumerate(points.items()):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in line))
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"/>')
        out.extend(f'<circle cx="{at(*p)[0]:.1f}" cy="{at(*p)[1]:.1f}" r="3" fill="{COLOURS[i]}"/>' for p in line)
        out.append(f'<text x="{left + 8}" y="{bottom + 54 + 15 * i}" fill="{COLOURS[i]}">{series[name]}</text>')


def draw(table, picture):
    with open(table) as text:
        rows = [(row["benchmark"], int(row["size"]), float(row["ns"])) for row in csv.DictReader(text)]
    width = LEFT + COLUMNS * (WIDTH + GAP)
    height = math.ceil(len(PANELS) / COLUMNS) * (TOP + HEIGHT + LEGEND)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>']
    for number in range(len(PANELS)):
        panel(out, number, rows)
    with open(picture, "w") as file:
        file.write("\n".join(out) + "\n</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "collect":
        collect(sys.argv[2:])
    elif len(sys.argv) == 4 and sys.argv[1] == "draw":
        draw(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
