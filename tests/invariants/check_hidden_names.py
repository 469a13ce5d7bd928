#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the anonymous namespaces of sources that are compiled as one do not get in each other's way.

Sources of a folder may be compiled as one (prumo_compile_folders_at_once), but are not in every build. Two things are found:
- A function has the name of a header's function that a source beside it calls. It hides that function from what follows in
  anonymous namespaces. If its parameters can be converted, no compiler says so.
- Two sources use one name for a type, a variable or a function. Only functions may share a name, because they can have other
  parameters, and aliases, if they stand for the same type.

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
# What an anonymous namespace declares beside functions, at the margin: an alias, a type, a variable.
ALIAS = re.compile(r"^using (\w+) = ([^;]*);", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|enum) (\w+)[^;{]*\{", re.MULTILINE)
VARIABLE = re.compile(
    r"^(?!return\b|using\b|namespace\b|template\b|class\b|struct\b|enum\b)(?:[\w:]+ )*[\w:]+(?:<[^;={]*>)?[ &*]+(?:const )?(\w+)(?:\[\w*\])? ?(?:=|\{|;)",
    re.MULTILINE,
)


def without_comments(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.DOTALL)


def local_functions(text):
    return {name for block in ANONYMOUS.findall(text) for name in FUNCTION.findall(block)}


def calls(text, name):
    return re.search(rf"(?<![\w.:>]){name}\(", without_comments(text)) is not None


def declarations(text):
    """What each name of the anonymous namespaces is, without spaces: aliases of one type are equal, nothing else is."""
    named = {}
    for block in ANONYMOUS.findall(text):
        for name, meaning in ALIAS.findall(block):
            named.setdefault(name, set()).add("alias " + re.sub(r"\s", "", meaning))
        for kind, pattern in (("type", TYPE), ("variable", VARIABLE), ("function", FUNCTION)):
            for name in pattern.findall(block):
                named.setdefault(name, set()).add(kind)
    return named


def clashes_in(root, texts):
    first = {}
    for path, text in sorted(texts.items()):
        for name, meanings in declarations(text).items():
            other, known = first.setdefault(name, (path, meanings))
            if other != path and (known != meanings or meanings & {"type", "variable"}):
                yield (f"{path.relative_to(root)}: {name} is declared in {other.name}, too, where the folder is compiled as "
                       "one; give it another name")


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
        yield from clashes_in(root, texts)
        local = {path: local_functions(text) for path, text in texts.items()}
        for path, names in local.items():
            for name in sorted(names & headers):
                for other, text in texts.items():
                    if other != path and name not in local[other] and calls(text, name):
                        yield (f"{path.relative_to(root)}: {name}() would hide the one of a header in {other.name}, where the "
                               "folder is compiled as one; give it another name")


def self_test():
    header = "int text_of(int value);\n"
    use = "int use() { return text_of(1); }  // other_name(1)\n"
    cases = [
        ("int text_of(long value) { return 0; }", use, 1),
        ("int other_name(long value) { return 0; }", use, 0),
        ("using space = host;", "constexpr int space = 1;", 1),
        ("using space = host;", "using space = device;", 1),
        ("using space = host;", "using space = host;", 0),
        ("constexpr float limit = 1;", "constexpr float limit = 1;", 1),
        ("std::vector<int> limits(4);", "const std::vector<int> limits{4};", 1),
        ("struct pair {", "class pair : public base {", 1),
        ("class pair : public base {", "class other : public base {", 0),
        ("int sum(int a) { return a; }", "int sum(float a) { return 0; }", 0),
    ]
    for first, second, expected in cases:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "bench/a"
            folder.mkdir(parents=True)
            (folder / "header.hpp").write_text(header, encoding="utf-8")
            for path, content in {"first.cpp": first, "second.cpp": second}.items():
                (folder / path).write_text(f"namespace {{\n\n{content}\n\n}}  // namespace\n", encoding="utf-8")
            found = list(findings_in(Path(name), ["a bench/a/first.cpp", "a bench/a/second.cpp"]))
        if len(found) != expected:
            print(f"self-test: {first} beside {second}: found {found}")
            return 1
    print("names that are hidden or declared twice are found")
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
