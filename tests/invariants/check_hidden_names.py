#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that no function of an anonymous namespace has the name of a header's function that a source beside it calls.

Sources of a folder may be compiled as one (prumo_compile_folders_at_once). There, the first function hides the second one
from what follows in anonymous namespaces. If its parameters can be converted, no compiler says so.

usage: check_hidden_names.py ROOT LIST
       check_hidden_names.py --self-test

LIST is a file of lines with a target and one of its sources that are compiled so, in any order.

Exit code 0: nothing found; 1: findings, a line each; 2: wrong usage.
"""
import re
import sys
import tempfile
from pathlib import Path

FOLDERS = ("backends", "bench", "core", "machine", "nets", "ops", "tests")
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.DOTALL | re.MULTILINE)
# A function at the scope of a namespace: its line begins at the margin.
FUNCTION = re.compile(r"^(?!return\b|using\b|namespace\b|class\b|struct\b|#|//|\})[\w:\[][\w:<>,*&\[\] ]*[ &*](\w+)\(", re.MULTILINE)


def without_comments(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.DOTALL)


def local_functions(text):
    return {name for block in ANONYMOUS.findall(text) for name in FUNCTION.findall(block)}


def calls(text, name):
    return re.search(rf"(?<![\w.:>]){name}\(", without_comments(text)) is not None


def findings_in(root, listed):
    headers = set()
    for folder in FOLDERS:
        for path in (root / folder).glob("**/*.hpp"):
            headers |= set(FUNCTION.findall(path.read_text(encoding="utf-8")))
    sources = {}
    for line in listed:
        target, path = line.split(maxsplit=1)
        path = root / path
        if path.suffix == ".cpp":
            sources.setdefault((target, path.parent), {})[path] = path.read_text(encoding="utf-8")
    for texts in sources.values():
        local = {path: local_functions(text) for path, text in texts.items()}
        for path, names in local.items():
            for name in sorted(names & headers):
                for other, text in texts.items():
                    if other != path and name not in local[other] and calls(text, name):
                        yield (f"{path.relative_to(root)}: {name}() would hide the one of a header in {other.name}, where the "
                               "folder is compiled as one; give it another name")


def self_test():
    files = {
        "bench/a/header.hpp": "int text_of(int value);\n",
        "bench/a/first.cpp": "namespace {\n\nint {}(long value) {{ return 0; }}\n\n}}  // namespace\n",
        "bench/a/second.cpp": "int use() { return text_of(1); }  // other_name(1)\n",
    }
    for name, expected in {"text_of": 1, "other_name": 0}.items():
        with tempfile.TemporaryDirectory() as folder:
            for path, content in files.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_text(content.replace("{}", name).replace("{{", "{").replace("}}", "}"), encoding="utf-8")
            found = list(findings_in(Path(folder), [f"a {path}" for path in files if path.endswith(".cpp")]))
        if len(found) != expected:
            print(f"self-test: {name}: found {found}")
            return 1
    print("a hidden name is found")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_dir():
        print(__doc__.strip(), file=sys.stderr)
        return 2
    found = list(findings_in(Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8").splitlines()))
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
