"""What people write becomes the jobspec that the command line makes of the same."""
import datetime
import json
import os
import subprocess

import pytest
from conftest import HOLON

from holon import InvalidArgument, Spec
from holon import _specs as specs
from holon.jobspec import environment_for_tasks, seconds, size_in_bytes


def by_command_line(*words):
    ran = subprocess.run([HOLON, "submit", "--dry-run", *words], check=True, stdout=subprocess.PIPE)
    document = json.loads(ran.stdout)
    document["attributes"]["system"].get("holon", {}).pop("group", None)
    if not document["attributes"]["system"].get("holon"):
        document["attributes"]["system"].pop("holon", None)
    document["attributes"]["system"].get("shell", {}).get("options", {}).pop("umask", None)
    return document


@pytest.mark.parametrize("words,spec", [
    (["true"], {}),
    (["-n", "2", "-c", "3", "-g", "1", "-m", "1500M", "-t", "5m", "true"],
     {"tasks": 2, "cores": 3, "gpus": 1, "memory": "1500M", "limit": "5m"}),
    (["-N", "2", "-n", "4", "true"], {"nodes": 2, "tasks": 4}),
    (["-N", "2", "-x", "true"], {"nodes": 2, "exclusive": True}),
    (["-o", "o-{{id}}", "-e", "/e", "--input", "i", "--name", "x", "-q", "q", "true"],
     {"stdout": "o-{{id}}", "stderr": "/e", "stdin": "i", "name": "x", "queue": "q"}),
    (["-d", "afterok:3", "-d", "afterany:4", "true"], {"depends": [3, "afterany:4"]}),
    (["--requeue", "2", "--retry-on", "any", "true"], {"requeue": 2, "retry_on": "any"}),
    (["--requires", "fast", "true"], {"requires": ["fast"]}),
    (["-w", "n[1-4]", "true"], {"requires": ["host:n[1-4]"]}),
    (["-D", "/tmp", "true"], {"cwd": "/tmp"}),
    (["--env", "A=b", "true"], {"env": {"A": "b"}}),
], ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_it_is_the_jobspec_of_the_command_line(words, spec):
    assert Spec(["true"], **spec).document() == by_command_line(*words)


def test_a_text_is_a_line_for_the_shell_and_names_the_job():
    document = Spec("sleep 1 | cat").document()
    assert document["tasks"][0]["command"] == ["/bin/sh", "-c", "sleep 1 | cat"]
    assert document["attributes"]["system"]["job"]["name"] == "sleep"


def test_times_and_sizes():
    assert [seconds(x) for x in (5, 1.5, "30s", "5m", "1.5h", "2d", datetime.timedelta(minutes=2))] == [5, 1.5, 30, 300, 5400, 172800, 120]
    assert [size_in_bytes(x) for x in (0, 7, "512M", "4G", "1.5k", "2 GiB")] == [0, 7, 512 << 20, 4 << 30, 1536, 2 << 30]


@pytest.mark.parametrize("options,where", [
    ({"cores": 0}, "cores"), ({"cores": "2"}, "cores"), ({"cores": True}, "cores"), ({"gpus": -1}, "gpus"), ({"nodes": -1}, "nodes"),
    ({"tasks": 0}, "tasks"), ({"nodes": 2, "tasks": 3}, "tasks"), ({"exclusive": True}, "exclusive"), ({"limit": "5"}, "limit"),
    ({"limit": -1}, "limit"), ({"limit": "5 minutes"}, "limit"), ({"memory": "4X"}, "memory"), ({"memory": -1}, "memory"),
    ({"depends": ["7"]}, "depends"), ({"depends": [0]}, "depends"), ({"env": {"A": 1}}, "env"), ({"env": {"": "x"}}, "env"),
    ({"name": "a\0b"}, "name"), ({"retry_on": "1"}, "retry_on"), ({"urgency": 32}, "urgency"), ({"core": 2}, "core"),
], ids=str)
def test_a_mistake_names_its_argument(options, where):
    with pytest.raises(InvalidArgument) as caught:
        specs.request_of(["true"], options)
    assert caught.value.where == where and caught.value.code == "invalid_argument"


@pytest.mark.parametrize("command", [[], "", "  ", [""], ["a\0"], ["\udcff"]], ids=repr)
def test_a_command_that_is_none_is_refused(command):
    with pytest.raises(InvalidArgument) as caught:
        Spec(command).document()
    assert caught.value.where == "command"


def test_a_jobspec_of_ones_own_takes_no_options():
    with pytest.raises(InvalidArgument):
        specs.request_of({"version": 1}, {"cores": 2})
    assert json.loads(specs.request_of({"version": 1}, {}).jobspec) == {"version": 1}


def test_a_task_does_not_find_the_job_around(monkeypatch):
    for name in ("HOLON_JOB_ID", "SLURM_NTASKS", "PMI_RANK", "SLURM_JOB_ID", "KEPT"):
        monkeypatch.setenv(name, "x")
    found = environment_for_tasks()
    assert "SLURM_JOB_ID" in found and "KEPT" in found
    assert not {"HOLON_JOB_ID", "SLURM_NTASKS", "PMI_RANK"} & set(found)


def test_an_environment_is_on_top_of_this_one_unless_said_otherwise(monkeypatch):
    monkeypatch.setenv("GONE", "x")
    found = Spec(["true"], env={"GONE": None, "NEW": "1"}).document()["attributes"]["system"]["environment"]
    assert "GONE" not in found and found["NEW"] == "1" and found["PATH"] == os.environ["PATH"]
    assert Spec(["true"], env={"A": "1"}, inherit_env=False).document()["attributes"]["system"]["environment"] == {"A": "1"}


def test_arrays_sets_of_numbers_and_paths():
    made = specs.array_of(["a", 1, {"x": 2}], None, None, 1, 1, 2, 0)
    assert made.size == 3
    assert made.options == {"first": 1, "step": 1, "entries": ["a", "1", '{"x": 2}'], "max_running": 2, "max_fails": 0}
    assert specs.array_of(None, None, "1,3,5-7", 1, 1, 0, None) == (5, {"indices": "1,3,5-7"})
    for wrong in (("text", None, None), ([], None, None), (["a"], 2, None), (None, None, None), (None, None, "x")):
        with pytest.raises(InvalidArgument):
            specs.array_of(*wrong, 1, 1, 0, None)
    assert specs.idset([1, 2, 3, 7]) == "1-3,7" and specs.numbers_of("1-3,7") == [1, 2, 3, 7]
    assert specs.join_path("/3", "7") == "/3/7" and specs.join_path("/3", "../9") == "/9" and specs.join_path("/3", "/") == "/"
    for wrong in ("..", "a", "3/x"):
        with pytest.raises(InvalidArgument):
            specs.join_path("/", wrong)
