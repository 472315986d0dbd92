"""The dataclasses are those of the program that was built with them."""
import json
import subprocess
import sys

import pytest
from conftest import HOLON

from holon import messages


@pytest.fixture(scope="module")
def schema():
    return subprocess.run([HOLON, "protocol", "--json-schema"], check=True, stdout=subprocess.PIPE).stdout


def test_they_are_what_the_generator_makes_of_the_programs_schema(schema, pytestconfig):
    generator = str(pytestconfig.rootpath / ".." / ".." / "python" / "generate.py")
    made = subprocess.run([sys.executable, generator], input=schema, check=True, stdout=subprocess.PIPE).stdout
    with open(messages.__file__, "rb") as file:
        assert file.read() == made, "build the target holon_python again"


def test_every_topic_that_is_no_agents_is_there(schema):
    topics = {name for name in json.loads(schema)["x-topics"] if not name.startswith("agent.")}
    assert set(messages.TOPICS) == topics
    for topic in messages.TOPICS.values():
        topic.request(), topic.answer()


def test_the_generator_refuses_what_it_does_not_know():
    schema = {"x-topics": {"a": {"request": {"$ref": "#/$defs/A"}, "answer": {"$ref": "#/$defs/A"}}},
              "$defs": {"A": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}}}}
    import os
    generator = os.path.join(os.path.dirname(__file__), "..", "..", "python", "generate.py")
    ran = subprocess.run([sys.executable, generator], input=json.dumps(schema).encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.returncode != 0 and b"new to me" in ran.stderr
