#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Extracts the code of the documentation, so that tests can compile it as it is printed.

usage: extract_code.py OUTPUT FILE.md...
       extract_code.py --self-test

- `<!-- compiled: NAME -->` above a ```cpp block marks a whole program. It becomes OUTPUT/programs/NAME.cpp.
- A line above a block that begins with `ops/NAME/FILE` in backquotes marks a file of an operation. It becomes
  OUTPUT/operations/NAME/FILE.

It prints the name of each file that it made. A file that already has the right content is not written again.
Exit codes: 0 done; 1 a mark has no block, a name appears twice, or a block is empty; 2 wrong usage.
"""
import re
import sys
import tempfile
from pathlib import Path

PROGRAM = re.compile(r"^<!--\s*compiled:\s*([A-Za-z0-9_]+)\s*-->\s*$")
OPERATION = re.compile(r"^`ops/([a-z0-9_]+/[A-Za-z0-9_./]+)`")
FENCE = re.compile(r"^```(\w*)\s*$")


class Fault(Exception):
    pass


def blocks_of(name, text):
    """(path below OUTPUT, code) for each marked block."""
    lines = text.splitlines()
    wanted = None  # (path, line of the mark)
    number = 0
    while number < len(lines):
        line = lines[number]
        program, operation, fence = PROGRAM.match(line), OPERATION.match(line), FENCE.match(line)
        if program:
            wanted = (f"programs/{program.group(1)}.cpp", number + 1, True)
        elif operation and "." in operation.group(1):
            wanted = (f"operations/{operation.group(1)}", number + 1, False)
        elif fence:
            end = next((at for at in range(number + 1, len(lines)) if lines[at].strip() == "```"), None)
            if end is None:
                raise Fault(f"{name}:{number + 1}: the block has no end")
            if wanted:
                if end == number + 1:
                    raise Fault(f"{name}:{number + 1}: the block is empty")
                yield wanted[0], "\n".join(lines[number + 1 : end]) + "\n"
            wanted, number = None, end
        elif line.strip() and wanted:
            if wanted[2]:
                raise Fault(f"{name}:{wanted[1]}: no block of code follows")
            wanted = None  # this is text that only begins with a file name
        number += 1
    if wanted and wanted[2]:
        raise Fault(f"{name}:{wanted[1]}: no block of code follows")


def extract(output, files):
    made = {}
    for file in files:
        for path, code in blocks_of(file.name, file.read_text(encoding="utf-8")):
            if path in made:
                raise Fault(f"{file.name}: {path} appears twice")
            if ".." in path.split("/"):
                raise Fault(f"{file.name}: {path} is outside of the folder")
            made[path] = code
    for path, code in made.items():
        target = output / path
        if target.is_file() and target.read_text(encoding="utf-8") == code:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(code, encoding="utf-8")
    for old in output.glob("**/*"):
        if old.is_file() and str(old.relative_to(output)) not in made:
            old.unlink()
    return sorted(made)


def self_test():
    good = "text\n<!-- compiled: one -->\n\n```cpp\nint x;\n```\n```cpp\nnot this\n```\n`ops/a/prumo/a.hpp`, a header\n```cpp\nint y;\n```\n"
    bad = ["<!-- compiled: one -->\ntext\n```cpp\nint x;\n```\n", "<!-- compiled: one -->\n```cpp\n```\n",
           "<!-- compiled: one -->\n```cpp\nint x;\n", "<!-- compiled: one -->\n", good + good]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        file = root / "text.md"
        file.write_text(good)
        made = extract(root / "out", [file])
        assert made == ["operations/a/prumo/a.hpp", "programs/one.cpp"], made
        assert (root / "out/programs/one.cpp").read_text() == "int x;\n"
        for text in bad:
            file.write_text(text)
            try:
                extract(root / "out", [file])
            except Fault:
                continue
            raise AssertionError(f"accepted: {text!r}")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        for path in extract(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]):
            print(path)
    except Fault as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
