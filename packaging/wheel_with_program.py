#!/usr/bin/env python3
"""wheel_with_program.py PURE-WHEEL TREE FOLDER - the wheel with the static program, its man pages, completions and licences in it.

TREE has bin/holon and share/. `pip install` puts data/scripts into bin and data/data below the prefix. The program needs a
Linux of its processor and no library of it: the wheel says it is good for every C library.
"""
import base64
import hashlib
import os
import platform
import sys
import time
import zipfile

SHARED = ("share/man", "share/bash-completion", "share/zsh", "share/fish")
LICENCES = ("LICENSE", "LICENCES.md", "NOTICES")


def tags():
    machine = platform.machine()
    return ["py3-none-manylinux2014_" + machine, "py3-none-musllinux_1_1_" + machine]


def files_of(tree, data, info):
    """The names in the wheel of the files of `tree` that belong into it, with their paths."""
    for name in LICENCES:
        yield info + "/" + name, os.path.join(tree, "share/doc/holon", name)
    yield data + "/scripts/holon", os.path.join(tree, "bin", "holon")
    for top in SHARED:
        for folder, _, names in os.walk(os.path.join(tree, top)):
            for name in names:
                path = os.path.join(folder, name)
                yield data + "/data/" + os.path.relpath(path, tree), path


def described(text):
    """The file WHEEL of a wheel with a program in it."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    return "\n".join(lines + ["Root-Is-Purelib: false"] + ["Tag: " + tag for tag in tags()]) + "\n"


def line_of(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return "%s,sha256=%s,%d\n" % (name, digest, len(data))


def main(pure, tree, folder):
    base = "-".join(os.path.basename(pure).split("-")[:2])
    info = base + ".dist-info"
    entries = {}
    with zipfile.ZipFile(pure) as archive:
        for name in archive.namelist():
            entries[name] = (archive.read(name), 0o644)
    entries[info + "/WHEEL"] = (described(entries[info + "/WHEEL"][0].decode()).encode(), 0o644)
    for name, path in files_of(tree, base + ".data", info):
        with open(path, "rb") as file:
            entries[name] = (file.read(), 0o755 if name.endswith("/scripts/holon") else 0o644)
    record = info + "/RECORD"
    del entries[record]
    names = sorted(entries, key=lambda name: (name.startswith(info), name))
    lines = "".join(line_of(name, entries[name][0]) for name in names) + record + ",,\n"
    entries[record] = (lines.encode(), 0o644)
    # Archives of this kind have no time before 1980.
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), 315532800))[:6]
    platforms = ".".join(tag.split("-")[2] for tag in tags())
    target = os.path.join(folder, "%s-py3-none-%s.whl" % (base, platforms))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in names + [record]:
            data, mode = entries[name]
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
