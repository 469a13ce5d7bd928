# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of conversations share: a worker that is asked, and their options."""

import argparse
import json
import subprocess
import sys
import unittest

from message_schema import MessageSchema

OPTIONS = argparse.Namespace(worker=[], schema=None, counts=False, chatter=None)
WORKLOADS = {"open", "check", "time", "evaluate", "advance", "save", "load", "close"}  # requests of workers that run nets


class Worker:
    """A worker process; each answer is checked for being the only line and for carrying the request's id."""

    def __init__(self, environment=None):
        self.process = subprocess.Popen(OPTIONS.worker, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment)
        self.last_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.kill()
        self.process.wait()

    def send(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, request, **fields):
        self.last_id += 1
        answer = self.send(json.dumps({"id": self.last_id, "request": request, **fields}).encode() + b"\n")
        assert answer["id"] == self.last_id, answer
        return answer

    def wants(self, request, **fields):
        """The answer to a request that has to succeed."""
        answer = self.ask(request, **fields)
        assert answer["ok"] is True, (request, fields, answer)
        faults = OPTIONS.schema.faults(f"{request}.answer", answer)
        assert not faults, (request, fields, faults)
        return answer

    def refused(self, request, **fields):
        """Kind and message of the refusal of a request that has to fail."""
        answer = self.ask(request, **fields)
        assert answer["ok"] is False, (request, fields, answer)
        assert answer["error"]["message"], answer
        return answer["error"]["kind"], answer["error"]["message"]

    def device(self):
        return self.wants("hello", protocol=1)["devices"][0]["id"]


def run():
    """Reads the options and runs the tests of the module that was started. \return the exit code"""
    parser = argparse.ArgumentParser()
    parser.add_argument("--schema", required=True, type=MessageSchema)
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--chatter")
    parser.add_argument("worker", nargs="+")
    parser.parse_args(namespace=OPTIONS)
    trial = subprocess.run(OPTIONS.worker, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if trial.returncode == 3:
        print(f"skipped: {trial.stderr.strip()}")
        return 77
    return 0 if unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result.wasSuccessful() else 1
