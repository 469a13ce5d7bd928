# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The faults of fake_worker.py, WHERE=WHAT.

WHERE is `REQUEST`, `REQUEST:OP`, `REQUEST#N` (the Nth request of that name in this process) or `REQUEST:OP#N`.
WHAT is one of ENDS, PAUSES, TEXTS, ADDITIONS or CHANGES, or error:KIND, or run:COMMAND, which happens before the answer.
"""
import json
import os
import signal
import subprocess
import sys
import time


class Faults:
    """Which fault happens when. With `once`, only while that file does not exist; the first fault creates it."""

    def __init__(self, faults, once):
        self.faults = faults
        self.once = once
        self.requests = {}

    def fault_for(self, name, op):
        if self.once and os.path.exists(self.once):
            return None
        for where, what in self.faults:
            place, _, number = where.partition("#")
            wanted, _, wanted_op = place.partition(":")
            if wanted != name or (wanted_op and wanted_op != op):
                continue
            key = (name, wanted_op)
            self.requests[key] = self.requests.get(key, 0) + 1
            if number and int(number) != self.requests[key]:
                continue
            if self.once:
                open(self.once, "w").close()
            return what
        return None


def complain_and_exit(complaint, code):
    print(complaint, file=sys.stderr, flush=True)
    os._exit(code)


def write_endlessly():
    sys.stdout.write("x" * (20 << 20))
    sys.stdout.flush()
    time.sleep(3600)


def close_silently():
    os.close(1)
    time.sleep(3600)


def die_while_a_child_holds_the_pipes():
    if os.fork() == 0:
        time.sleep(3600)
    complain_and_exit("the fake worker left a child behind", 9)


def flood_errors():
    while True:
        os.write(2, b"x" * 4096)


def write_slowly():
    while True:
        os.write(1, b" ")
        time.sleep(0.01)


ENDS = {
    "orphan": die_while_a_child_holds_the_pipes,
    "flood": flood_errors,
    "drip": write_slowly,
    "die": lambda: complain_and_exit("the fake worker was told to die", 7),
    "unavailable": lambda: complain_and_exit("there is no driver for the device", 3),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "endless": write_endlessly,
    "silent_close": close_silently,
}
PAUSES = {"hang": 3600, "slow": 0.3}  # seconds, and then the answer
TEXTS = {"garbage": "Intel MKL WARNING: this is no JSON", "not_an_object": "[1, 2]"}
# Text in front of the end of the answer.
ADDITIONS = {"deep": ', "deep": ' + "[" * 200000 + "]" * 200000}
# What differs in the answer; None: the field is not there.
CHANGES = {
    "wrong_id": lambda answer: {"id": answer["id"] + 1000},
    "no_ok": lambda answer: {"ok": None},
    "nan": lambda answer: {"samples": [float("nan")]},
    "negative": lambda answer: {"samples": [1e-3, -1e-3]},
    "missing_cases": lambda answer: {"cases": None},
    "missing": lambda answer: dict.fromkeys(answer.keys() - {"id", "ok"}),
    "wrong": lambda answer: {"verified": False, "error": 3.5, "message": "entry 17 is 2, expected 1"},
    "escapes": lambda answer: {"verified": False, "error": 3.5, "message": "no\x1b[2J\u202e"},
    "liar": lambda answer: {"verified": True, "error": 3.5},
    "bad_count": lambda answer: {"counted": {"total": 5, "source": "a guess"}},
    "bad_facts": lambda answer: {"device": dict(answer["device"], peaks=[{"unit": "horse"}])},
}


def play(what, answer):
    """What to send instead of `answer`, already serialised; None: the answer as it is."""
    if what in ENDS:
        ENDS[what]()
    if what in PAUSES:
        time.sleep(PAUSES[what])
        return None
    if what in TEXTS:
        return TEXTS[what]
    if what in ADDITIONS:
        return json.dumps(answer)[:-1] + ADDITIONS[what] + "}"
    if what in CHANGES:
        changes = CHANGES[what](answer)
        kept = {name: value for name, value in answer.items() if name not in changes}
        return json.dumps(kept | {name: value for name, value in changes.items() if value is not None})
    if what.startswith("error:"):
        return json.dumps({"id": answer["id"], "ok": False, "error": {"kind": what[6:], "message": "as the test asked"}})
    if what.startswith("run:"):
        subprocess.run(what[4:], shell=True, check=True, stdout=subprocess.DEVNULL)
        return None
    raise SystemExit(f"unknown fault {what}")
