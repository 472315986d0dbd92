"""Instances for the tests: each in a folder of its own, and gone with the test, also when that is killed."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

HOLON = os.environ.get("HOLON_BINARY") or shutil.which("holon")
# What waits for something real waits so long: far more than it takes on a machine with a lot to do.
PATIENCE = 60
# A short one: the path of a socket has at most 107 bytes.
PLACE = os.environ.get("TEST_TMPDIR", "/tmp")


class Sandbox:
    """A folder, an environment in which nothing of this machine's user is found, and the instances in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hp-", dir=PLACE)
        self.run_dir = os.path.join(self.folder, "r")
        os.mkdir(self.run_dir, 0o700)
        self.env = {"HOME": self.folder, "TMPDIR": self.run_dir, "XDG_RUNTIME_DIR": self.run_dir, "HOLON_BINARY": HOLON}
        self.env["PATH"] = os.path.dirname(HOLON) + ":/usr/bin:/bin"
        for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LANG", "HWLOC_PLUGINS_PATH", "HWLOC_COMPONENTS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.started = []

    def start(self, *options, cores=4):
        """The address of a new instance. It lives as long as the pipe to its initial program does: that closes with us."""
        uri_file = os.path.join(self.folder, "uri%d" % len(self.started))
        script = 'printf %%s "$HOLON_URI" >%s.new && mv %s.new %s && exec cat' % (uri_file, uri_file, uri_file)
        state = os.path.join(self.folder, "state%d" % len(self.started))
        kept = [] if "--no-journal" in options else ["--state-dir", state]
        words = [HOLON, "start", "--resources", "node=1/core=%d" % cores, *kept, *options, "--", "/bin/sh", "-c", script]
        log = open(os.path.join(self.folder, "log"), "ab")
        process = subprocess.Popen(words, env=self.env, cwd=self.folder, stdin=subprocess.PIPE, stdout=log, stderr=log)
        self.started.append(process)
        end = time.monotonic() + PATIENCE
        while not os.path.exists(uri_file):
            assert process.poll() is None and time.monotonic() < end, open(log.name).read()
            time.sleep(0.01)
        with open(uri_file) as file:
            return file.read()

    def end(self):
        for process in self.started:
            process.stdin.close()
        for process in self.started:
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def isolated(monkeypatch):
    """This process itself finds no instance of its user's, and its jobs no job around it."""
    for name in [name for name in os.environ if name.startswith("HOLON_") and name != "HOLON_BINARY"]:
        monkeypatch.delenv(name)
    nowhere = tempfile.mkdtemp(prefix="hp-", dir=PLACE)
    for name in ("XDG_RUNTIME_DIR", "HOME"):
        monkeypatch.setenv(name, nowhere)
    yield
    shutil.rmtree(nowhere, ignore_errors=True)


@pytest.fixture
def tmp_path():
    """pytest's own keeps the folders of the last runs."""
    made = tempfile.mkdtemp(prefix="hp-", dir=PLACE)
    yield pathlib.Path(made)
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def sandbox():
    made = Sandbox()
    yield made
    made.end()


@pytest.fixture(scope="module")
def module_sandbox():
    made = Sandbox()
    yield made
    made.end()


@pytest.fixture(scope="module")
def uri(module_sandbox):
    """An instance of four cores that the tests of a file share."""
    return module_sandbox.start("--no-journal")


@pytest.fixture
def instance(uri):
    import holon

    with holon.Instance.connect(uri) as connected:
        yield connected


def wait_until(condition, what):
    """Waits for what another process does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)
