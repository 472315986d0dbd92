#!/usr/bin/env python3
"""generate.py [--binary HOLON] [--output FILE] - writes holon/messages.py from the schema that HOLON prints (else that on standard
input) to FILE (else to standard output).

The dataclasses of the messages, and the table of topics, are made from the same list of fields as the broker's own code:
there is nothing to keep in step by hand. What agents and their broker say to each other is left out.
"""
import argparse
import json
import keyword
import re
import subprocess
import sys
from typing import Any, Dict, List, Set

HEAD = '''"""The messages of holon, one dataclass each; docs/protocol.md says what their fields mean.

Times are milliseconds since the Unix epoch by the instance's wall clock, durations milliseconds; 0 is "none" or "not
yet". A field whose name is a word of Python has a "_" behind it: `from_`. Made by python/generate.py from `holon protocol --json-schema`: changes are lost.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Type


class Topic(NamedTuple):
    """What is asked with, and answered by; `is_stream`: by any number of these."""

    request: Type[object]
    answer: Type[object]
    is_stream: bool
'''
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def name_of(ref: Dict[str, Any]) -> str:
    return str(ref["$ref"]).rsplit("/", 1)[1]


def type_of(schema: Dict[str, Any]) -> str:
    if "$ref" in schema:
        return name_of(schema)
    kind = schema.get("type")
    if isinstance(kind, str) and kind in SCALARS:
        return SCALARS[kind]
    if kind == "array" and "items" in schema:
        return "List[%s]" % type_of(schema["items"])
    if kind == "object" and "additionalProperties" in schema:
        return "Dict[str, %s]" % type_of(schema["additionalProperties"])
    raise SystemExit("generate.py: this part of the schema is new to me: %s" % json.dumps(schema))


def default_of(schema: Dict[str, Any]) -> str:
    if "$ref" in schema:
        return "field(default_factory=lambda: %s())" % name_of(schema)
    value = schema.get("default")
    if schema["type"] == "array":
        if value:
            return "field(default_factory=lambda: %r)" % value
        return "field(default_factory=list)"
    if schema["type"] == "object":
        return "field(default_factory=dict)"
    if schema["type"] == "number":
        return repr(float(value or 0))
    return json.dumps(value) if isinstance(value, str) else repr(value)


def needed_by(names: List[str], schema: Dict[str, Any]) -> Set[str]:
    """The definitions that these refer to, and they themselves."""
    found: Set[str] = set()
    open_names = list(names)
    while open_names:
        name = open_names.pop()
        if name in found:
            continue
        found.add(name)
        text = json.dumps(schema["$defs"][name])
        open_names += re.findall(r"#/\$defs/(\w+)", text)
    return found


def generate(text: str) -> str:
    """The text of messages.py for the text of a schema."""
    schema = json.loads(text)
    topics = {name: topic for name, topic in schema["x-topics"].items() if not name.startswith("agent.")}
    said_by: Dict[str, List[str]] = {}
    for name, topic in topics.items():
        said_by.setdefault(name_of(topic["request"]), []).append("asks `%s`" % name)
        answer = topic.get("answer") or topic["stream"]
        said_by.setdefault(name_of(answer), []).append("answers `%s`" % name)
    wanted = needed_by(list(said_by), schema)
    lines = [HEAD]
    for name, definition in schema["$defs"].items():
        if name not in wanted:
            continue
        lines += ["", "@dataclass", "class %s:" % name]
        # Empty is of a dozen topics, whose names say nothing.
        said = said_by.get(name, [])
        what = "; ".join(said) if 0 < len(said) < 4 else "a part of other messages" if not said else "nothing"
        lines += ['    """%s."""' % (what[0].upper() + what[1:]), ""]
        for field_name, field_schema in definition["properties"].items():
            if keyword.iskeyword(field_name):
                field_name += "_"
            lines.append("    %s: %s = %s" % (field_name, type_of(field_schema), default_of(field_schema)))
        if not definition["properties"]:
            lines.pop()
        lines.append("")
    lines += ["", "TOPICS: Dict[str, Topic] = {"]
    for name, topic in topics.items():
        answer = topic.get("answer") or topic["stream"]
        lines.append('    "%s": Topic(%s, %s, %s),' % (name, name_of(topic["request"]), name_of(answer), "stream" in topic))
    lines += ["}", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary")
    parser.add_argument("--output")
    options = parser.parse_args()
    if options.binary:
        schema = subprocess.run([options.binary, "protocol", "--json-schema"], check=True, stdout=subprocess.PIPE).stdout.decode("utf-8")
    else:
        schema = sys.stdin.read()
    text = generate(schema)
    if not options.output:
        print(text, end="")
        return
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
