#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what no compiler does: licence lines, forbidden words, and which layer includes which.

usage: check_tree.py ROOT
       check_tree.py --self-test

Exit code 0: nothing found; 1: findings, a line each; 2: wrong usage.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
FOLDERS = ("core", "machine", "backends", "ops", "bench", "tests", "cmake", "examples", "scripts", "dev", "docs")
CPP = (".hpp", ".cpp", ".h", ".c", ".cu", ".hip", ".inc", ".in")
SOURCES = CPP + (".cmake", ".py", ".bash", ".sh")

# Nothing but Kokkos and vendor libraries below the programs.
PROGRAM_LIBRARIES = re.compile(r"^(CLI/|nlohmann/|fmt/|ftxui/|spdlog/|boost/)")
LAMBDA = re.compile(r"\bKOKKOS_(CLASS_)?LAMBDA\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# A folder may include the public headers of the layers before it and of itself.
LAYERS = ("core", "backends", "ops")
# Beside backends and ops: what workers know of a machine, which operations do without.
BESIDE = ("machine",)


def files_of(root):
    """What git tracks and what it would, or everything where there is no git."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = [str(path.relative_to(root)) for folder in FOLDERS for path in sorted(root.glob(f"{folder}/**/*"))]
    return [name for name in listed if name.split("/")[0] in FOLDERS + ("CMakeLists.txt",) and (root / name).is_file()]


def without_comments(text):
    """The same lines with comments and strings blanked, so that only code is judged."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return token.sub(lambda found: "\n" * found.group().count("\n"), text)


def header_owners(files):
    """The layer of each public header: prumo/sum.hpp is the ops'."""
    owners = {}
    for name in files:
        parts = name.split("/")
        if "prumo" in parts[1:-1] and name.endswith(".hpp"):
            start = len(parts) - 2 - parts[-2::-1].index("prumo")
            owners["/".join(parts[start:])] = "bench/" + parts[1] if parts[0] == "bench" else parts[0]
    owners["prumo/prumo.hpp"] = "ops"  # generated
    return owners


def forbidden_layers(name):
    """The layers whose headers the file may not include."""
    first = name.split("/")[0]
    if first in LAYERS:
        beside = () if name.endswith("_test.cpp") else BESIDE
        return LAYERS[LAYERS.index(first) + 1 :] + beside + ("bench/protocol", "bench/worker", "bench/prumo")
    if first in BESIDE:
        return LAYERS[1:] + ("bench/protocol", "bench/worker", "bench/prumo")
    if name.startswith("bench/prumo/"):
        return LAYERS + BESIDE + ("bench/protocol", "bench/worker")
    if name.startswith("bench/protocol/"):
        return LAYERS + BESIDE + ("bench/worker", "bench/prumo")
    if name.startswith("bench/worker/"):
        return ("bench/prumo",)
    if first == "examples":
        return ("bench/protocol", "bench/worker", "bench/prumo")
    return ()


def is_test(name):
    return "tests" in name.split("/")[:-1]


def check_includes(name, text, owners):
    first = name.split("/")[0]
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, header = found.group(1) == '"', found.group(2)
        if first in LAYERS + BESIDE and PROGRAM_LIBRARIES.match(header):
            yield f"{name}:{number}: {first}/ uses Kokkos and vendor libraries only, not <{header}>"
        if name.startswith("bench/prumo/") and not is_test(name):
            if re.match(r"(Kokkos_|cblas\.h|cuda|hip/|hwloc)", header):
                yield f"{name}:{number}: the front-end has no Kokkos and no vendor library, not <{header}>"
        owner = owners.get(header)
        if owner in forbidden_layers(name):
            yield f"{name}:{number}: {first}/ may not include <{header}>, which belongs to {owner}/"
        if quoted and header.startswith("../") and not is_test(name):
            yield f"{name}:{number}: \"{header}\" reaches into another folder; use its public header"


def check_file(root, name, owners):
    path = root / name
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        if path.suffix in SOURCES:
            yield f"{name}: is not UTF-8"
        return
    is_source = path.suffix in SOURCES or path.name in ("CMakeLists.txt", "dev") or text.startswith("#!")
    lines = text.splitlines() or [""]
    if is_source and LICENCE not in "\n".join(lines[: 2 if lines[0].startswith("#!") else 1]):
        yield f"{name}:1: the first line (after #!) is not '{LICENCE}'"
    if path.suffix not in CPP:
        return
    if path.suffix == ".hpp" and "#pragma once" not in text:
        yield f"{name}: a header without #pragma once"
    yield from check_includes(name, text, owners)
    if name.split("/")[0] in LAYERS + BESIDE:
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if LAMBDA.search(line):
                yield f"{name}:{number}: kernels are named functors, not KOKKOS_LAMBDA (it ruins the host half of nvcc builds)"


def check_tree(root):
    files = files_of(root)
    owners = header_owners(files)
    return [finding for name in files for finding in check_file(root, name, owners)], len(files)


def self_test():
    """A tree with one fault of each kind, and one without."""
    line = f"// {LICENCE}\n"
    clean = {
        "core/prumo/a.hpp": line + "#pragma once\n// no KOKKOS_LAMBDA here\n",
        "ops/sum/prumo/sum.hpp": line + "#pragma once\n#include <prumo/a.hpp>\n",
        "backends/host/b.cpp": line + '#include <prumo/a.hpp>\n#include "b.hpp"\n',
        "machine/prumo/machine/facts.hpp": line + "#pragma once\n#include <prumo/a.hpp>\n",
        "bench/worker/w.cpp": line + "#include <prumo/machine/facts.hpp>\n",
        "bench/prumo/main.cpp": line + "#include <CLI/CLI.hpp>\n",
    }
    faults = {
        "core/x.cpp": (line + "#include <prumo/sum.hpp>\n", "belongs to ops"),
        "backends/host/x.cpp": (line + "#include <prumo/sum.hpp>\n", "belongs to ops"),
        "ops/w.cpp": (line + "#include <prumo/machine/facts.hpp>\n", "belongs to machine"),
        "machine/x.cpp": (line + "#include <prumo/sum.hpp>\n", "belongs to ops"),
        "ops/x.cpp": (line + "#include <nlohmann/json.hpp>\n", "vendor libraries only"),
        "ops/y.cpp": (line + "auto f = KOKKOS_LAMBDA(int) {};\n", "named functors"),
        "ops/z.cpp": (line + '#include "../sum/detail.hpp"\n', "another folder"),
        "bench/prumo/x.cpp": (line + "#include <Kokkos_Core.hpp>\n", "front-end"),
        "bench/prumo/y.cpp": (line + "#include <prumo/a.hpp>\n", "belongs to core"),
        "core/y.cpp": ("int x;\n", "SPDX"),
        "core/prumo/y.hpp": (line, "pragma once"),
        "core/CMakeLists.txt": ("add_library(x)\n", "SPDX"),
    }
    for name, (text, expected) in {"": ("", ""), **faults}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, content in {**clean, **({name: text} if name else {})}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            findings, _ = check_tree(root)
        right = len(findings) == 1 and expected in findings[0] if name else not findings
        if not right:
            print(f"self-test: {name or 'the clean tree'}: found {findings}")
            return 1
    print(f"{len(faults)} kinds of fault are found")
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print(__doc__.strip(), file=sys.stderr)
        return 2
    findings, count = check_tree(Path(sys.argv[1]))
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {count} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
