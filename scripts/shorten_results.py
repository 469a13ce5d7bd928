#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a results file small enough to commit, and takes the machine's identity out of it.

usage: shorten_results.py RESULTS.json OUTPUT.json

OUTPUT keeps the quartiles instead of all samples (`time_s.samples_measured` says how many samples there were). Of the machine
it keeps the names of the processor and of the devices, and nothing else. Results that were not measured are left out.
Exit codes: 0 done; 1 a file cannot be read or written; 2 wrong usage.
"""
import json
import sys
from pathlib import Path

from performance_tables import Fault, portable_command, read_results


def short_result(result):
    time = result["time_s"]
    quartiles = [time["p25"], time["median"], time["p75"]]
    short = {name: time[name] for name in ("median", "p25", "p75", "stop", "clock")}
    short.update(samples=quartiles, samples_measured=time.get("samples_measured", len(time["samples"])))
    return {**result, "time_s": short}


def shorten(document):
    run = document["run"]
    short_run = {name: run[name] for name in ("id", "started", "versions")}
    short_run.update(command=portable_command(run["command"]), cpu={"name": run["cpu"].get("name")})
    short_run.update(host={}, memory={}, power={}, environment={})
    named = [{name: device[name] for name in ("id", "backend", "name", "threads")} for device in document["devices"]]
    devices = [{**device, "facts": {}, "peaks": [], "ceilings": []} for device in named]
    results = [short_result(result) for result in document["results"] if result["status"] == "ok"]
    return {"schema": document["schema"], "run": short_run, "devices": devices, "results": results}


def one_result_a_line(document):
    parts = [f'"schema": {json.dumps(document["schema"])}', f'"run": {json.dumps(document["run"])}']
    for name in ("devices", "results"):
        parts.append(f'"{name}": [\n' + ",\n".join(json.dumps(one) for one in document[name]) + "\n]")
    return "{" + ",\n".join(parts) + "}\n"


def main(arguments):
    if len(arguments) != 2 or any(name.startswith("-") for name in arguments):
        print(__doc__.strip())
        return 0 if arguments in (["-h"], ["--help"]) else 2
    source, output = map(Path, arguments)
    try:
        output.write_text(one_result_a_line(shorten(read_results(source))), encoding="utf-8")
    except (Fault, OSError) as fault:
        print(f"shorten_results: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
