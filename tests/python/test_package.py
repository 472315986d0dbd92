"""The package as others get it: a wheel made offline, typed, and documented."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import pytest
from conftest import HOLON

import holon

PACKAGE = os.path.dirname(holon.__file__)
SOURCE = os.path.join(os.path.dirname(__file__), "..", "..", "python")


@pytest.fixture(scope="module")
def wheel():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hp-", dir="/tmp"))
    env = {**os.environ, "HOLON_BINARY": HOLON, "HOME": str(folder)}
    # A build leaves traces where it is made.
    source = shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("messages.py", "__pycache__"))
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder), str(source)]
    ran = subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout
    [made] = folder.glob("*.whl")
    yield made
    shutil.rmtree(folder)


def test_a_wheel_is_made_from_the_sources_without_a_network(wheel):
    assert re.fullmatch(r"holon-[\d.]+-py3-none-any\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert {"holon/py.typed", "holon/messages.py", "holon/worker.py", "holon/_wire/zmtp.py", "holon/adapters/joblib.py"} <= set(names)
    assert not [name for name in names if "test" in name or name.endswith((".pyc", "generate.py"))]
    assert zipfile.ZipFile(wheel).read("holon/messages.py") == open(holon.messages.__file__, "rb").read()


def test_it_can_be_installed_and_used(wheel, sandbox, tmp_path):
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(tmp_path / "site"), str(wheel)]
    subprocess.run(words, check=True, env={**os.environ, "HOME": str(tmp_path)})
    script = ("import sys; sys.path.insert(0, %r); import holon; assert holon.__file__.startswith(%r)\n" % ((str(tmp_path / "site"),) * 2) +
              "with holon.Executor(1, %r) as e: print(e.submit(pow, 2, 3).result())" % sandbox.start("--no-journal"))
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.stdout == "8\n"


def test_without_the_messages_it_says_what_to_do(tmp_path):
    env = {**os.environ, "PYTHONPATH": SOURCE}
    ran = subprocess.run([sys.executable, "-c", "import holon; holon.Instance"], env=env, stderr=subprocess.PIPE, text=True)
    if not os.path.exists(os.path.join(SOURCE, "holon", "messages.py")):
        assert "made when the package is built" in ran.stderr


def test_mypy_finds_nothing(tmp_path):
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "holon"], cwd=os.path.dirname(PACKAGE),
                         env={**os.environ, "MYPYPATH": os.path.dirname(PACKAGE)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout


def test_everything_public_says_what_it_is():
    import inspect

    silent = []
    for name in holon.__all__:
        thing = getattr(holon, name)
        if not inspect.getdoc(thing):
            silent.append(name)
        if inspect.isclass(thing):
            silent += ["%s.%s" % (name, member) for member, value in vars(thing).items()
                       if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, (property, classmethod)))
                       and not inspect.getdoc(getattr(thing, member))]
    assert silent == []


def test_the_facade_offers_what_the_core_does():
    for blocking, core in ((holon.Instance, holon.AsyncInstance), (holon.Job, holon.AsyncJob), (holon.Array, holon.AsyncArray)):
        missing = {name for name in dir(core) if not name.startswith("_")} - set(dir(blocking)) - {"binary"}
        assert missing == set(), blocking
