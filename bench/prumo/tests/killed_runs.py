#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills runs of ``prumo bench`` at random moments by random signals, and looks at what they leave behind.

    killed_runs.py PRUMO [--kills N] [--seed S]

Runs belong to series. A series has one results file: each of its runs but the first continues it with --resume, all but the
last are killed, and the last one completes the file. After each run

- the results file is valid, and has every result that it had before, unchanged;
- it has the result of every case that was finished before the run was killed, as the worker's log tells;
- no process of the run is there any more.

After a run that could end in order, and after the last of a series, no file is left but those that were asked for, neither
beside the results nor in the folder for temporary files. The worker is the scripted one. The exit code is 0 if all this holds, and 1 after the first run of which it does not.
"""
import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

try:
    import jsonschema
except ImportError:
    jsonschema = None

TESTS = pathlib.Path(__file__).resolve().parent
SCHEMA = json.loads((TESTS.parents[2] / "docs/results.schema.json").read_text(encoding="utf-8"))
ORDERLY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SUDDEN = (signal.SIGKILL, signal.SIGKILL, signal.SIGQUIT, signal.SIGABRT, signal.SIGSEGV)
OPERATIONS = ("add", "mul", "scale", "softmax", "sum", "fill")
LONGEST_SERIES = 6


class Left(Exception):
    """A run left something behind that it should not, or lost something."""


class Series:
    """Runs that continue one results file in a folder of their own."""

    def __init__(self, prumo, draw):
        self.prumo, self.draw = prumo, draw
        self.folder = tempfile.TemporaryDirectory(prefix="prumo-killed-")
        self.path = pathlib.Path(self.folder.name) / "results/r.json"
        self.log = pathlib.Path(self.folder.name) / "log"
        self.temporary = pathlib.Path(self.folder.name) / "temporary"
        self.path.parent.mkdir()
        self.temporary.mkdir()
        self.kept = {}

    def start(self, delay):
        """A run. The name of the folder in its arguments and its worker's tells its processes from others."""
        worker = f"'{sys.executable}' '{TESTS / 'fake_worker.py'}' --delay {delay} --label '{self.folder.name}' --log '{self.log}'"
        self.log.unlink(missing_ok=True)
        command = [self.prumo, "bench", "--op", ",".join(OPERATIONS), "--size", "2MB", "--data", "resident", "--no-probe", "--quick",
                   "--no-search", "--worker", f"fake={worker}", "-o", str(self.path)]
        if self.path.exists():
            command.append("--resume")
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                                start_new_session=True, env=dict(os.environ, PRUMO_WORKER_PATH="", TMPDIR=str(self.temporary)))

    def complete(self):
        """The last run of the series."""
        run = self.start(0)
        _, errors = run.communicate(timeout=60)
        if run.returncode != 0:
            raise Left(f"the run that completes the file ended with {run.returncode}: {errors}")
        self.look("the run that completes the file", in_order=True)
        if len(self.kept) != len(OPERATIONS):
            raise Left(f"the completed file has {len(self.kept)} measured cases, not {len(OPERATIONS)}")

    def kill(self, seconds):
        """Starts a run and kills it after at most `seconds`. Returns what was done to it."""
        run = self.start(self.draw.choice((0, 0.005, 0.02)))
        time.sleep(self.draw.uniform(0, seconds))
        numbers = [self.draw.choice(self.draw.choice((ORDERLY, SUDDEN)))]
        if self.draw.random() < 0.2:
            numbers.append(self.draw.choice(ORDERLY + SUDDEN))
        whole_group = self.draw.random() < 0.3
        for number in numbers:
            if run.poll() is None:
                (os.killpg if whole_group else os.kill)(run.pid, number)
                time.sleep(self.draw.choice((0, 0.001, 0.05)))
        try:
            _, errors = run.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            run.kill()
            raise Left(f"a run went on for a minute after {numbers}") from None
        what = f"{'+'.join(it.name for it in numbers)}{' to the group' if whole_group else ''}"
        if run.returncode not in (0, 130) and -run.returncode not in numbers:
            raise Left(f"after {what} it ended with {run.returncode}: {errors}")
        self.look(what, in_order=run.returncode in (0, 130))
        return what

    def look(self, what, in_order):
        """Raises Left unless file, folder and processes are as they should be."""
        if self.path.exists():
            try:
                document = json.loads(self.path.read_text(encoding="utf-8"))
            except ValueError as problem:
                raise Left(f"after {what} the file is no JSON: {problem}") from problem
            if jsonschema:
                jsonschema.validate(document, SCHEMA)
            now = {it["key"]: it for it in document["results"] if it["status"] == "ok"}
            for key, result in self.kept.items():
                if now.get(key) != result:
                    raise Left(f"after {what} the result of '{key}' is {'gone' if key not in now else 'another one'}")
            self.kept = now
        elif self.kept:
            raise Left(f"after {what} the file is gone")
        lost = self.finished() - {it["op"] for it in self.kept.values()}
        if lost:
            raise Left(f"after {what} the file lacks results of finished cases: {sorted(lost)}")
        others = [str(it) for folder in (self.path.parent, self.temporary) for it in folder.iterdir() if it != self.path]
        if in_order and others:
            raise Left(f"after {what} these files are left: {others}")
        for _ in range(100):
            alive = self.processes()
            if not alive:
                return
            time.sleep(0.05)
        raise Left(f"after {what} these processes are left: {alive}")

    def finished(self):
        """The operations of the cases that the last run finished: those that were prepared before another one."""
        prepared = []
        if self.log.exists():
            for line in self.log.read_text(encoding="utf-8").splitlines():
                request, *operation = line.split()
                if request == "prepare" and operation and operation[0] not in prepared:
                    prepared.append(operation[0])
        return set(prepared[:-1])

    def processes(self):
        found = []
        for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = line.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue  # it has ended
            if self.folder.name in words:
                found.append(f"{line.parent.name}: {words}")
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prumo")
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    began = time.monotonic()
    first = Series(options.prumo, draw)
    first.complete()
    seconds = 1.1 * (time.monotonic() - began)
    kills, counts, results, finished = 0, {}, 0, 0
    while kills < options.kills:
        series = Series(options.prumo, draw)
        try:
            for _ in range(min(draw.randint(1, LONGEST_SERIES), options.kills - kills)):
                kills += 1
                what = series.kill(seconds)
                counts[what] = counts.get(what, 0) + 1
                finished += len(series.finished())
            results += len(series.kept)
            series.complete()
        except Left as problem:
            print(f"kill {kills} (seed {options.seed}): {problem}", file=sys.stderr)
            return 1
        finally:
            series.folder.cleanup()
    print(f"{kills} runs killed within {seconds:.1f} s of their start; the {finished} cases that they finished are in the files. "
          f"{results} results were in files that were continued")
    for what, count in sorted(counts.items(), key=lambda it: -it[1]):
        print(f"{count:5}  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
