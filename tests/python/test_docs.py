"""The examples of docs/python.md, as they stand there."""
import os
import re
import subprocess
import sys

import pytest

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "python.md")
with open(PAGE, encoding="utf-8") as page:
    EXAMPLES = re.findall(r"^```python\n(.*?)^```$", page.read(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_example_runs(number, uri, tmp_path):
    script = tmp_path / "example.py"
    script.write_text(EXAMPLES[number])
    env = {**os.environ, "HOLON_URI": uri}
    ran = subprocess.run([sys.executable, str(script)], env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0 and ran.stdout, ran.stdout


def test_there_are_examples():
    assert len(EXAMPLES) >= 4
