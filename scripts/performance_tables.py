#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of README.md and docs/performance.md from results files (docs/results.md).

usage: performance_tables.py [--check] [DOCUMENT...]

Without a DOCUMENT, both of these are rewritten. With --check nothing is written, and the exit code is 1 if a document is
not what it would be. scripts/shorten_results.py makes results files small enough to commit.

A document marks a table, and the description of a run, with comments. Everything between them is rewritten:

  <!-- table: docs/results/h200.json columns=cuda:0,torch-cuda:0 op=add,sum size=32MiB,128MiB cache=cold -->
  <!-- end -->
  <!-- run: docs/results/h200.json -->
  <!-- end -->

The path begins at the top of the tree.

  columns=DEVICE[/IMPLEMENTATION],...  a column each; without an implementation, the fastest correct one of the device.
                                       `% of roofline` belongs to the first column
  across=PROPERTY                      repeats the columns for each value of the property, for example across=size
  value=time|gbytes|gflops|gelements   what the columns show; time is the default
  axes=AXIS,...                        shows these extents of the shape in columns, in the place of the size
  roofline=no                          leaves `% of roofline` out
  op= dtype= size= layout= data= host_memory= cache= dispatch= compute_mode= threads=
                                       which results are shown: one value, or several in the order of the rows
  shape=columns:1024,...               only results whose shape has these extents
  parameters=trans_b:1,...             only results that have these parameters

A property with several values becomes a column. A property with a single value stands above the table.
Exit codes: 0 done; 1 --check found a difference, or a table cannot be made; 2 wrong usage.
"""
import json
import re
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "docs/performance.md")
MARK = re.compile(r"^<!--\s*(table|run):\s*(.*?)\s*-->$")
END = "<!-- end -->"
PROPERTIES = ("op", "dtype", "size", "shape", "parameters", "layout", "data", "host_memory", "cache", "dispatch",
              "compute_mode", "threads")
# A filter names parts of these. A table shows them only if its rows are the same in all other properties.
COMPOSED = ("shape", "parameters")
# A table does not mention these values if all its rows have them.
USUAL = {"layout": "right", "dispatch": "recorded", "compute_mode": "strict"}
HEADINGS = {"op": "operation", "dtype": "type", "host_memory": "host memory", "compute_mode": "mode"}
# Warnings about shares of a ceiling that cannot be relied on.
DOUBTS = ("UNSTEADY", "IMPOSSIBLE")
PRUMO = ("openmp", "threads", "serial", "cuda", "hip")
PEERS = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", "cupy": "CuPy", "onednn": "oneDNN", "loops": "loops"}
RATES = {"gbytes": "GB/s", "gflops": "GFLOP/s", "gelements": "10^9 elements/s"}


class Fault(Exception):
    """An error in a document, a mark or a results file."""


# ---- results -----------------------------------------------------------------------------------------------------------


def read_results(path):
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Fault(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Fault(f"{path}: is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != "prumo.results/1":
        raise Fault(f"{path}: is not a file of prumo.results/1")
    return document


def binary_size(size):
    """The size in the largest binary unit that gives a whole number."""
    for unit, amount in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= amount and size % amount == 0:
            return f"{size // amount}{unit}"
    return f"{size}B"


def property_of(result, name):
    """The text that filters compare with; empty if the result does not have this property."""
    if name == "size":
        size = result["bytes_per_array"]
        return "" if size is None else binary_size(size)
    if name in COMPOSED:
        return ",".join(f"{part}:{value}" for part, value in sorted(result[name].items()))
    found = result.get(name, USUAL.get(name))
    return "" if found is None else str(found)


def matches(result, filters):
    for name, wanted in filters.items():
        found = property_of(result, name)
        if not set(wanted) <= set(found.split(",")) if name in COMPOSED else found not in wanted:
            return False
    return True


def fits_column(result, column):
    device, _, implementation = column.partition("/")
    return result["device"] == device and implementation in ("", result["implementation"])


def best_of(results):
    """The fastest result that is not known to be wrong."""
    measured = [one for one in results if one["status"] == "ok" and one["verified"] is not False]
    return min(measured, key=lambda one: one["time_s"]["median"], default=None)


# ---- tables ------------------------------------------------------------------------------------------------------------


def three_digits(value):
    decimals = next((count for count in range(6) if value >= 99.95 / 10**count), 6)
    return f"{value:.{decimals}f}"


def time_unit(seconds):
    """The unit, and its factor, in which all these times are easy to read."""
    return ("ms", 1e3) if min(seconds) >= 1e-3 or max(seconds) >= 1e-2 else ("us", 1e6)


def column_name(column):
    device, _, implementation = column.partition("/")
    backend = device.partition(":")[0]
    name = "prumo" if backend in PRUMO else PEERS.get(backend.partition("-")[0], device)
    return f"{name}, {implementation}" if implementation else name


def spaced(text):
    """32MiB as 32 MiB, m:2,n:3 as m = 2, n = 3."""
    text = text.replace(":", " = ").replace(",", ", ")
    return re.sub(r"^(\d+)([KMG]?i?B)$", r"\1 \2", text) or "-"


def parse_mark(text):
    """(file, options, filters) of `table: FILE NAME=VALUE...`."""
    file, *words = text.split() or [""]
    options, filters = {"columns": "", "across": "", "axes": "", "value": "time", "roofline": "yes"}, {}
    for word in words:
        name, _, value = word.partition("=")
        if not value:
            raise Fault(f"'{word}' is not NAME=VALUE")
        if name in options:
            options[name] = value
        elif name in PROPERTIES:
            filters[name] = value.split(",")
        else:
            raise Fault(f"there is no '{name}'; there are: {', '.join([*options, *PROPERTIES])}")
    if not file or not options["columns"]:
        raise Fault("a table needs a results file and columns=DEVICE,...")
    if options["value"] != "time" and options["value"] not in RATES:
        raise Fault(f"there is no value '{options['value']}'; there are: time, {', '.join(RATES)}")
    if options["across"] not in ("", *PROPERTIES):
        raise Fault(f"across={options['across']}: there is no such property; there are: {', '.join(PROPERTIES)}")
    return file, options, filters


def rows_of(document, columns, filters):
    """For each row, its properties and the result of each column, in the order of the filters, then of sizes."""
    found = {}
    for result in document["results"]:
        for column in columns:
            if matches(result, filters) and fits_column(result, column):
                properties = tuple(property_of(result, name) for name in PROPERTIES)
                found.setdefault((result["bytes_per_array"] or 0, properties), {}).setdefault(column, []).append(result)
    rows = [(size, dict(zip(PROPERTIES, properties)), {column: best_of(results) for column, results in cells.items()})
            for (size, properties), cells in found.items()]

    def place(row):
        size, properties, _ = row
        listed = [filters[name].index(properties[name]) for name in filters if name not in COMPOSED]
        return listed, properties["op"], size, list(properties.values())

    rows = [(properties, cells) for size, properties, cells in sorted(rows, key=place) if any(cells.values())]
    for column in columns:
        if not any(cells.get(column) for _, cells in rows):
            raise Fault(f"no measured result of {column} matches")
    return rows


def varying_properties(rows):
    def tell_apart(names):
        return len({tuple(properties[name] for name in names) for properties, _ in rows}) == len(rows)

    names = [name for name in PROPERTIES if name == "op" or len({properties[name] for properties, _ in rows}) > 1]
    for name in COMPOSED:
        others = [other for other in names if other != name]
        if tell_apart(others):
            names = others
    return names


def with_extents(rows, axes):
    """The rows with extents of their shapes as further properties, in the order of the extents."""
    for properties, _ in rows:
        extents = dict(part.split(":") for part in properties["shape"].split(",")) if properties["shape"] else {}
        missing = [name for name in axes if name not in extents]
        if missing:
            raise Fault(f"axes={missing[0]}: a result has no such axis; there are: {', '.join(extents)}")
        properties.update((name, extents[name]) for name in axes)
    return sorted(rows, key=lambda row: [int(row[0][name]) for name in axes])


def make_table(document, options, filters):
    columns = options["columns"].split(",")
    rows = rows_of(document, columns, filters)
    names = varying_properties(rows)
    axes = options["axes"].split(",") if options["axes"] else []
    if axes:
        names = [name for name in names if name not in ("size", "shape")]
        rows = with_extents(rows, axes)
    measured = [cell for _, cells in rows for cell in cells.values() if cell]
    unit, factor = time_unit([one["time_s"]["median"] for one in measured])
    timed = options["value"] == "time"

    def number(result):
        value = result and (result["time_s"]["median"] * factor if timed else result["rates"][options["value"]])
        return "-" if value is None else three_digits(value) + ("" if result["verified"] else " *")

    def share(result):
        percent = result and result["percent"]["roofline"]
        doubts = [text.partition(":")[0].lower() for text in (result or {}).get("warnings", []) if text.startswith(DOUBTS)]
        return "-" if percent is None else ", ".join([f"{percent:.0f}", *doubts])

    above = [spaced(rows[0][0][name]) for name in PROPERTIES if name not in names and name not in COMPOSED
             and name != options["across"] and not (axes and name == "size") and rows[0][0][name] not in ("", USUAL.get(name))]
    above.append(f"time of one call in {unit}" if timed else RATES[options["value"]])
    # Each line has the columns once for each value of the property that goes across, or only once without one.
    across = options["across"]
    values = list(dict.fromkeys(properties[across] for properties, _ in rows)) if across else [""]
    heads = [HEADINGS.get(name, name.replace("_", " ")) for name in [*names, *axes] if name != across]
    lines = {}
    for properties, cells in rows:
        line = lines.setdefault(tuple(spaced(properties[name]) for name in [*names, *axes] if name != across), {})
        line[properties[across] if across else ""] = cells
    lines = [(list(key), [line.get(value, {}) for value in values]) for key, line in lines.items()]
    for value in values:
        for column in columns:
            first = column == columns[0]
            heads.append(f"{spaced(value)}: " * (first and bool(across)) + column_name(column))
            heads += ["% of roofline"] * (first and options["roofline"] != "no")
    for line, groups in lines:
        for cells in groups:
            for column in columns:
                line.append(number(cells.get(column)))
                if column == columns[0] and options["roofline"] != "no":
                    line.append(share(cells.get(column)))
    made = [", ".join(above) + ".", "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    made += ["| " + " | ".join(line) + " |" for line, _ in lines]
    if not all(one["verified"] for one in measured):
        made += ["", "\\* This run did not compare the result with a reference."]
    return made


def portable_command(command):
    """The command without paths of the machine that ran it, nor the files that it wrote."""
    program, *rest = command
    words, kept = iter(rest), [Path(program).name]
    for word in words:
        if word in ("-o", "--csv"):
            next(words, None)
        else:
            kept.append(re.sub(r"^([^/]*=)?/.*/", lambda found: found.group(1) or "", word))
    return kept


def make_run(document):
    """Hardware, day, versions and command of a run."""
    run = document["run"]
    hardware = {}
    for device in document["devices"]:
        hardware.setdefault(device["name"] or "device without a name", []).append(device["id"])
    facts = [f"{name} ({', '.join(dict.fromkeys(ids))})" for name, ids in hardware.items()]
    facts.append(f"measured on {run['started'][:10]}" if run["started"] else "day unknown")
    versions = (run["versions"] or {}).items()  # the versions of workers are prumo's own
    facts += [f"{name} {version}" for name, version in versions if version and not name.startswith("worker ")]
    return ["; ".join(facts) + ".", "", "```sh", " ".join(portable_command(run["command"])), "```"]


# ---- documents ---------------------------------------------------------------------------------------------------------


def rewrite(name, text, tree):
    """The document with everything between its marks made anew."""
    lines, made, at, in_code = text.splitlines(), [], 0, False
    while at < len(lines):
        made.append(lines[at])
        at += 1
        in_code ^= lines[at - 1].startswith("```")
        mark = None if in_code else MARK.match(lines[at - 1])
        if not mark:
            continue
        end = next((i for i in range(at, len(lines)) if lines[i] == END or MARK.match(lines[i])), None)
        try:
            if end is None or lines[end] != END:
                raise Fault(f"the mark has no '{END}'")
            if mark.group(1) == "run":
                made += make_run(read_results(tree / mark.group(2)))
            else:
                file, options, filters = parse_mark(mark.group(2))
                made += make_table(read_results(tree / file), options, filters)
        except Fault as fault:
            raise Fault(f"{name}:{at}: {fault}") from None
        at = end
    return "\n".join(made) + "\n"


def update(documents, check, tree=TREE):
    """Rewrites the documents, or only checks them; returns those that differ."""
    differing = []
    for document in documents:
        before = document.read_text(encoding="utf-8")
        after = rewrite(document.name, before, tree)
        if after != before:
            differing.append(document)
            if not check:
                document.write_text(after, encoding="utf-8")
    return differing


def main(arguments):
    check = arguments[:1] == ["--check"]
    names = arguments[1:] if check else arguments
    if any(name.startswith("-") for name in names):
        print(__doc__.strip())
        return 0 if names in (["-h"], ["--help"]) else 2
    try:
        differing = update([Path(name) for name in names] or [TREE / name for name in DOCUMENTS], check)
    except (Fault, OSError) as fault:
        print(f"performance_tables: {fault}", file=sys.stderr)
        return 1
    if check:
        for document in differing:
            print(f"performance_tables: {document}: a table is not what its results file says. "
                  "Run scripts/performance_tables.py and look at what changes.", file=sys.stderr)
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
