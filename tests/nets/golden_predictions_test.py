# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shipped weights in PyTorch and in prumo: the same classes of all test images, but where two classes are so close that
rounding decides: ``python3 golden_predictions_test.py PRUMO WEIGHTS PEERS WORKER``.

Exits with 77 where the Python of peers (PRUMO_PYTHON, or this one) has no PyTorch, or where the worker runs no nets.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PRUMO, WEIGHTS, PEERS, WORKER = sys.argv[1:5]
del sys.argv[1:5]
TORCH = [os.environ.get("PRUMO_PYTHON", sys.executable), "-m", "prumo_peers.torch"]
SIDES = {"ece408-2020": "86", "ece408-2019": "48"}


class Worker:
    def __init__(self, command):
        environment = {**os.environ, "PYTHONPATH": PEERS, "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def ask(self, request, **fields):
        self._process.stdin.write(json.dumps({"request": request, **fields}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"ok": false, "error": "the worker ended"}')
        if not answer["ok"]:
            raise AssertionError(f"{request}: {answer['error']}")
        return answer


def has_nets(command):
    try:
        with Worker(command) as worker:
            return "workloads" in worker.ask("hello", protocol=1)["features"]
    except AssertionError:
        return False


class GoldenPredictions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.digits = pathlib.Path(folder.name) / "digits"
        subprocess.run([PRUMO, "data", "generate", cls.digits, "--split", "test"], check=True, stdout=subprocess.DEVNULL)

    def images_for(self, net):
        images = self.digits / "t10k-images-idx3-ubyte"
        if net not in SIDES:
            return images
        resized = self.digits / f"images-{net}"
        if not resized.exists():
            subprocess.run([PRUMO, "data", "resize", images, resized, "--size", SIDES[net]], check=True,
                           stdout=subprocess.DEVNULL)
        return resized

    def test_both_recognize_the_same(self):
        for weights in sorted(pathlib.Path(WEIGHTS).glob("*-digits.safetensors")):
            net = weights.name.removesuffix("-digits.safetensors")
            description = json.loads(subprocess.run([PRUMO, "data", "info", net, "--json"], check=True, text=True,
                                                    stdout=subprocess.PIPE).stdout)
            for dtype in ("f32", "f64"):
                with self.subTest(net=net, dtype=dtype), Worker([WORKER]) as prumo, Worker(TORCH) as torch:
                    fields = {"workload": "inference", "net": description, "dtype": dtype, "batch": 1000,
                              "images": str(self.images_for(net)), "labels": str(self.digits / "t10k-labels-idx1-ubyte"),
                              "weights": str(weights)}
                    found = {}
                    for name, worker in (("prumo", prumo), ("torch", torch)):
                        device = worker.ask("hello", protocol=1)["devices"][0]["id"]
                        session = worker.ask("open", device=device, **fields)["session"]
                        found[name] = session, worker.ask("evaluate", session=session)
                    session, answer = found["prumo"]
                    ours, theirs = answer["predictions"], found["torch"][1]["predictions"]
                    self.assertEqual(len(ours), 10000)
                    differing = [it for it in range(10000) if ours[it] != theirs[it]]
                    self.assertLess(len(differing), 5)
                    if differing:
                        checked = prumo.ask("check", session=session, level="net", images=differing)
                        self.assertTrue(checked["verified"], checked)
                        self.assertEqual((checked["differing"], checked["undecided"]), (0, len(differing)), checked)
                    self.assertLess(abs(answer["correct"] - found["torch"][1]["correct"]), 5)


if __name__ == "__main__":
    if not has_nets(TORCH) or not has_nets([WORKER]):
        sys.exit(77)
    unittest.main()
