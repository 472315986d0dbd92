"""Builds the package; the messages are made from the schema of the program `holon`.

That is $HOLON_BINARY, else build/release/bin/holon or build/dev/bin/holon of the source tree, else the one in PATH. Where
holon/messages.py is there already, as in the tree that the CMake target holon_python makes, it is taken as it is.
"""
import os
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = os.path.dirname(os.path.abspath(__file__))


def binary():
    tree = os.path.dirname(HERE)
    places = [os.environ.get("HOLON_BINARY"), *(os.path.join(tree, "build", kind, "bin", "holon") for kind in ("release", "dev"))]
    for place in [*places, shutil.which("holon")]:
        if place and os.access(place, os.X_OK):
            return place
    sys.exit("setup.py: the program holon is not found, of whose messages this package is made: build it (scripts/build release "
             "holon), or name it in HOLON_BINARY")


class Build(build_py):
    def run(self):
        super().run()
        made = os.path.join(self.build_lib, "holon", "messages.py")
        if os.path.exists(made) and os.path.exists(os.path.join(HERE, "holon", "messages.py")):
            return
        subprocess.run([sys.executable, os.path.join(HERE, "generate.py"), "--binary", binary(), "--output", made], check=True)


setup(cmdclass={"build_py": Build})
