#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what a document says of the tree's code.

usage: check_references.py ROOT FILE.md...
       check_references.py --self-test

- `NAME()` in `PATH`, in backquotes: the file exists and has a function of that name.
- "From `PATH`" in the paragraph above a code block: the file holds the block. Empty lines divide a block into parts, which
  may stand apart in the file.

Exit code 0: nothing found; 1: findings, a line each; 2: wrong usage.
"""
import re
import sys
import tempfile
from pathlib import Path

FUNCTION = re.compile(r"`(\w+)\(\)` in `([\w./]+)`")
EXCERPT = re.compile(r"\bFrom `([\w./]+)`")


def check(root, name, text):
    paragraph = ""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        for function, path in FUNCTION.findall(line):
            file = root / path
            if not file.is_file():
                yield f"{name}:{number + 1}: there is no {path}"
            elif not re.search(rf"\b{function}\(", file.read_text(encoding="utf-8")):
                yield f"{name}:{number + 1}: {path} has no {function}()"
        if line.startswith("```"):
            begin = number + 1
            number = next((at for at in range(begin, len(lines)) if lines[at] == "```"), len(lines))
            excerpt = EXCERPT.search(paragraph)
            if excerpt:
                file = root / excerpt.group(1)
                source = file.read_text(encoding="utf-8") if file.is_file() else ""
                for part in "\n".join(lines[begin:number]).split("\n\n"):
                    if part not in source:
                        yield f"{name}:{begin + 1}: not in {excerpt.group(1)}: {part.splitlines()[0]}"
            paragraph = ""
        else:
            paragraph = paragraph + line + "\n" if line.strip() else ""
        number += 1


def self_test():
    code = "int f(int);\n\nint g();\nint h();\n"
    good = "1. `f()` in `a/x.cpp`: text\nFrom `a/x.cpp`:\n```cpp\nint f(int);\n\nint h();\n```\ntext\n```cpp\nint i();\n```\n"
    bad = ["1. `i()` in `a/x.cpp`\n", "1. `f()` in `a/y.cpp`\n", "From `a/x.cpp`:\n```cpp\nint i();\n```\n",
           "From `a/y.cpp`:\n```cpp\nint f(int);\n```\n", "From `a/x.cpp`:\n```cpp\nint f(int);\n\nint i();\n```\n"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "a").mkdir()
        (root / "a/x.cpp").write_text(code)
        assert list(check(root, "good", good)) == [], list(check(root, "good", good))
        for text in bad:
            assert len(list(check(root, "bad", text))) == 1, text
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    findings = []
    for name in sys.argv[2:]:
        findings += check(Path(sys.argv[1]), Path(name).name, Path(name).read_text(encoding="utf-8"))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
