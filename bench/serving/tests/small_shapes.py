#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verifies every operation, type, layout and implementation of a worker at small shapes.

usage: small_shapes.py [--op OP,...] WORKER...

For tools that slow a program down a hundred times, under which the tests proper would take hours:
  small_shapes.py compute-sanitizer --tool racecheck --log-file race.txt prumo-worker-cuda
Prints a line an operation. Exit code 1 where a result is wrong, 3 where the worker ends.
"""

import argparse
import collections
import itertools
import json
import subprocess
import sys

# Odd extents leave remainders for packs, tiles and teams; the long rows are beyond what a team keeps in registers.
EXTENTS = {
    ("n",): [{"n": n} for n in (1, 1003, 100003)],
    ("rows", "columns"): [{"rows": 17, "columns": 1000}, {"rows": 3, "columns": 20001}, {"rows": 501, "columns": 7}],
    ("images", "channels", "pixels"): [{"images": 9, "channels": 5, "pixels": 77},
                                       {"images": 3, "channels": 2, "pixels": 20001}],
    ("m", "n"): [{"m": 97, "n": 131}, {"m": 5, "n": 40001}, {"m": 40001, "n": 3}, {"m": 2, "n": 3}],
    ("batch", "m", "n", "k"): [{"batch": 7, "m": 32, "n": 32, "k": 32}, {"batch": 3, "m": 5, "n": 70, "k": 33}],
    ("m", "n", "k"): [{"m": 97, "n": 131, "k": 65}, {"m": 5, "n": 3, "k": 300}],
    ("rows", "columns", "table"): [{"rows": 17, "columns": 1000, "table": 5}, {"rows": 501, "columns": 7, "table": 600}],
}

# Beside the default; of parameters that are not named 0.5.
OTHER_VALUES = {"trans_a": 1, "trans_b": 1, "tanh": 1, "low": -0.25, "high": 0.125}


class Worker:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request, **fields):
        self.process.stdin.write(json.dumps({"id": 0, "request": request, **fields}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:  # tools write lines of their own
            if line.startswith("{"):
                return json.loads(line)
        print(f"the worker ended ({self.process.wait()}) at {request} {fields}", file=sys.stderr)
        sys.exit(3)


def choices(operation):
    """Requests for every choice that an operation leaves; of parameters, the defaults and one other set."""
    shapes = EXTENTS.get(tuple(axis["name"] for axis in operation["axes"]))
    if shapes is None:
        raise SystemExit(f"there are no small shapes for the axes of {operation['op']}: add them to EXTENTS")
    values = [{}]
    if operation["parameters"]:
        values.append({it["name"]: OTHER_VALUES.get(it["name"], 0.5) for it in operation["parameters"]})
    for dtype, layout, implementation, mode, shape, parameters in itertools.product(
            operation["dtypes"], operation["layouts"], operation["implementations"], operation["compute_modes"], shapes,
            values):
        yield {"op": operation["op"], "dtype": dtype, "layout": layout, "implementation": implementation,
               "compute_mode": mode, "shape": shape, "parameters": parameters}


def verify_all(worker, device, operation):
    seen = collections.Counter()
    for choice in choices(operation):
        prepared = worker.ask("prepare", device=device, data="resident", cache="hot", seed=1, **choice)
        if not prepared["ok"]:
            if prepared["error"]["kind"] not in ("unsupported", "skipped"):
                print(f"  {choice}: {prepared['error']['message']}")
            seen["wrong" if prepared["error"]["kind"] not in ("unsupported", "skipped") else "unsupported"] += 1
            continue
        verified = worker.ask("verify", case=prepared["case"])
        good = verified["ok"] and verified["verified"]
        seen["verified" if good else "wrong"] += 1
        if not good:
            print(f"  {choice}: {verified}")
        worker.ask("release", case=prepared["case"])
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--op", default="", help="only these operations")
    parser.add_argument("worker", nargs=argparse.REMAINDER, help="the worker's command")
    options = parser.parse_args()
    if not options.worker:
        parser.error("the worker's command is missing")
    worker = Worker(options.worker)
    hello = worker.ask("hello", protocol=1)
    wanted = options.op.split(",") if options.op else None
    total = collections.Counter()
    for operation in hello["cases"]:
        if operation["kind"] != "op" or (wanted and operation["op"] not in wanted):
            continue
        seen = verify_all(worker, hello["devices"][0]["id"], operation)
        total += seen
        print(f"{operation['op']:10} {dict(seen)}", flush=True)
    worker.process.stdin.write('{"id": 0, "request": "quit"}\n')
    worker.process.stdin.close()
    worker.process.stdout.read()
    code = worker.process.wait()
    print(f"all        {dict(total)}, the worker's exit code {code}")
    return 1 if total["wrong"] or not total["verified"] or code else 0


if __name__ == "__main__":
    sys.exit(main())
