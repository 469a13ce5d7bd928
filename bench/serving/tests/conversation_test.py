# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A conversation with a real worker, as docs/protocol.md has it:

    python3 conversation_test.py --schema FILE [--counts] [--chatter OPTION] -- WORKER [ARGUMENT...]

--schema: docs/protocol.schema.json, which every answer is held against, and from which the wrong requests are made.
--counts: the worker counts flops. --chatter: an option that makes a library of the worker print to standard output.
Exits with 77 where the worker says that it cannot run here (exit code 3).
"""

import argparse
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

from message_schema import MessageSchema, wrong_values

OPTIONS = None
SCHEMA = None
SMALL = 64 << 10  # bytes of an array
WORKLOADS = {"open", "check", "time", "evaluate", "close"}  # requests of workers that run nets
NOT_ON_EVERY_DEVICE = ("f8_e4m3",)  # of matrix products, by the libraries of some GPUs alone


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
        faults = SCHEMA.faults(f"{request}.answer", answer)
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


class Program(unittest.TestCase):
    def run_program(self, *arguments, text=""):
        return subprocess.run([*OPTIONS.worker, *arguments], input=text, capture_output=True, text=True)

    def test_help_and_version(self):
        for option in ("--help", "--version"):
            result = self.run_program(option)
            self.assertEqual(result.returncode, 0)
            self.assertIn("prumo", result.stdout)
        self.assertIn('{"request": "hello"}', self.run_program("--help").stdout)

    def test_an_unknown_option_is_named(self):
        result = self.run_program("--nonsense")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--nonsense", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_the_end_of_input_ends_it(self):
        result = self.run_program(text="")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_the_end_of_input_ends_it_after_requests(self):
        result = self.run_program(text='{"request": "hello"}')
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stdout.splitlines()), 1)

    def test_quit_answers_and_ends(self):
        result = self.run_program(text='{"id": 5, "request": "quit"}\n{"id": 6, "request": "hello"}\n')
        self.assertEqual(result.returncode, 0)
        self.assertEqual([json.loads(line) for line in result.stdout.splitlines()], [{"id": 5, "ok": True}])

    def test_standard_output_holds_answers_only(self):
        more = [OPTIONS.chatter] if OPTIONS.chatter else []
        result = self.run_program(*more, text='{"id": 1, "request": "hello"}\n\n{"id": 2, "request": "quit"}\n')
        self.assertEqual([json.loads(line)["id"] for line in result.stdout.splitlines()], [1, 2])
        if more:
            self.assertTrue(result.stderr)


class Refusals(unittest.TestCase):
    def test_lines_that_are_no_requests(self):
        with Worker() as worker:
            for line in (b"{\n", b"nonsense\n", b"[1]\n", b"7\n", b'{"request": 5}\n', b'{"request": "jump"}\n', b"{}\n",
                         b"\xff\xfe\n", b'"' + b"x" * (2 << 20) + b'"\n', b"[" * 100000 + b"\n"):
                answer = worker.send(line)
                self.assertEqual((answer["id"], answer["ok"], answer["error"]["kind"]), (None, False, "usage"), line[:40])
            worker.wants("hello", protocol=1)

    def test_a_front_end_of_another_version_is_greeted(self):
        with Worker() as worker:
            hello = worker.wants("hello", protocol=99, features=["telepathy"], mood="good")
            self.assertEqual(hello["protocol"], 1)
            self.assertEqual(set(hello["features"]) - {"workloads"}, set(SCHEMA.requests()) - {"hello"} - WORKLOADS)
            self.assertEqual("workloads" in hello["features"], "workloads" in hello)

    def test_variables_that_nobody_asks_for_stay_with_the_worker(self):
        secrets = {f"{family}_SECRET": "hunter2" for family in ("PRUMO", "OMP", "CUDA", "MKL", "TORCH", "JAX", "ONEDNN")}
        with Worker(environment={**os.environ, **secrets, "MALLOC_ARENA_MAX": "7"}) as worker:
            for asked in ({}, {"variables": None}, {"variables": ["MALLOC_ARENA_MAX", "PRUMO_UNSET"]}):
                answer = worker.wants("hello", protocol=1, **asked)
                self.assertEqual(answer["worker"]["environment"], {"MALLOC_ARENA_MAX": "7"} if asked.get("variables") else {})
                self.assertNotIn("hunter2", json.dumps(answer))

    def test_every_field_of_the_schema_is_checked(self):
        with Worker() as worker:
            complete = {"device": worker.device(), "op": "add", "dtype": "f32", "shape": {"n": 10}, "seconds": 0}
            complete["case"] = worker.wants("prepare", **complete)["case"]
            complete.update(workload="inference", net={}, batch=1, images="i", labels="l", weights="w", session=1)
            runs_nets = "workloads" in worker.wants("hello", protocol=1)["features"]
            for request in SCHEMA.requests():
                if request == "count" and not OPTIONS.counts:
                    continue  # it answers null to whatever is asked
                if request in WORKLOADS and not runs_nets:
                    self.assertIn("there is no request", worker.refused(request)[1])
                    continue
                described = SCHEMA.message(f"{request}.request")
                given = {name: complete[name] for name in described["properties"] if name in complete}
                for name in described.get("required", ()):
                    kind, message = worker.refused(request, **{**given, name: None})
                    self.assertEqual((kind, message), ("usage", f"the field '{name}' is missing"), request)
                for name, value in wrong_values(described):
                    kind, message = worker.refused(request, **{**given, name: value})
                    self.assertEqual(kind, "usage", (request, name, value, message))
                    self.assertIn(f"'{name}", message, (request, value))

    def test_missing_and_mistyped_fields_are_named(self):
        with Worker() as worker:
            complete = {"device": worker.device(), "op": "add", "dtype": "f32", "shape": {"n": 10}}
            for name in ("device", "op", "dtype"):
                kind, message = worker.refused("prepare", **{**complete, name: None})
                self.assertEqual(kind, "usage")
                self.assertIn(f"'{name}'", message)
            for name, value in (("op", 7), ("shape", "big"), ("shape", {"n": -1}), ("shape", {"n": 1.5}), ("seed", "x"),
                                ("cache", "warm"), ("data", "moved"), ("dispatch", "twice"), ("parameters", {"alpha": "x"})):
                kind, message = worker.refused("prepare", **{**complete, name: value})
                self.assertEqual(kind, "usage", (name, value, message))
            for request in ("verify", "sample", "release"):
                self.assertEqual(worker.refused(request)[0], "usage")

    def test_names_that_do_not_exist(self):
        with Worker() as worker:
            complete = {"device": worker.device(), "op": "add", "dtype": "f32", "shape": {"n": 10}}
            for change in ({"device": "moon:0"}, {"op": "ad"}, {"dtype": "f99"}, {"layout": "spiral"},
                           {"shape": {"rows": 10}}, {"shape": {}}, {"parameters": {"gamma": 1}},
                           {"implementation": "magic"}):
                kind, message = worker.refused("prepare", **{**complete, **change})
                self.assertEqual(kind, "usage", (change, message))
            for request in ("verify", "release"):
                self.assertIn("42", worker.refused(request, case=42)[1])
            self.assertEqual(worker.refused("sample", case=42, seconds=0)[0], "usage")
            self.assertEqual(worker.refused("resolve", op="add", dtype="f32")[0], "usage")

    def test_a_case_larger_than_memory(self):
        with Worker() as worker:
            device = worker.device()
            for n in (1 << 44, (1 << 62) - 1):
                kind, message = worker.refused("prepare", device=device, op="add", dtype="f32", shape={"n": n})
                self.assertEqual(kind, "memory", message)
                self.assertIn("needs", message)
                self.assertIn("available", message)

    def test_a_host_has_no_transfers(self):
        with Worker() as worker:
            summary = worker.wants("hello", protocol=1)["devices"][0]
            if summary.get("transfers"):
                self.skipTest(f"{summary['id']} has transfers")
            kind, message = worker.refused("prepare", device=summary["id"], op="add", dtype="f32", shape={"n": 10},
                                           data="transferred")
            self.assertEqual((kind, message), ("skipped", "a host device has no transfers"))


class Measurement(unittest.TestCase):
    def test_transferred_calls_tell_their_copies(self):
        with Worker() as worker:
            summary = worker.wants("hello", protocol=1)["devices"][0]
            if not summary.get("transfers"):
                self.skipTest(f"{summary['id']} has no transfers")
            measured = 0
            for memory in ("pinned", "pageable"):
                prepared = worker.ask("prepare", device=summary["id"], op="add", dtype="f32", shape={"n": 1000},
                                      data="transferred", host_memory=memory)
                if not prepared["ok"]:  # a framework may have one kind alone
                    self.assertEqual(prepared["error"]["kind"], "unsupported", prepared)
                    continue
                measured += 1
                sample = worker.wants("sample", case=prepared["case"], seconds=0)
                transfer = sample["transfer"]
                self.assertEqual((transfer["h2d_bytes"], transfer["d2h_bytes"]), (8000, 4000))
                self.assertGreater(min(transfer["h2d"] + transfer["d2h"]), 0)
                worker.wants("release", case=prepared["case"])
            self.assertGreater(measured, 0)

    def check_case(self, worker, device, case, dtype, **more):
        what = (case["op"], dtype, more)
        resolved = worker.wants("resolve", op=case["op"], dtype=dtype, bytes_per_array=SMALL)
        prepared = worker.wants("prepare", device=device, op=case["op"], dtype=dtype, shape=resolved["shape"], **more)
        self.assertGreaterEqual(prepared["copies"], 1)
        if more.get("cache") == "hot":
            self.assertEqual(prepared["copies"], 1)
            self.assertEqual(prepared["footprint_bytes"], resolved["footprint_bytes"])
        if more.get("dispatch") == "single":
            self.assertEqual(prepared["dispatch"], "single")
        if case["kind"] == "op":
            verified = worker.wants("verify", case=prepared["case"])
            self.assertIs(verified["verified"], True, (what, verified))
            self.assertLessEqual(verified["error"], verified["error_bound"])
        sample = worker.wants("sample", case=prepared["case"], seconds=0)
        self.assertEqual(len(sample["samples"]), 1)
        self.assertEqual(len(sample["wall"]), 1)
        for seconds in sample["samples"] + sample["wall"]:
            self.assertTrue(math.isfinite(seconds) and seconds > 0, what)
        worker.wants("release", case=prepared["case"])

    def test_every_operation_type_and_implementation(self):
        with Worker() as worker:
            hello = worker.wants("hello", protocol=1)
            device = hello["devices"][0]["id"]
            self.assertTrue(hello["cases"])
            for case in hello["cases"]:
                self.assertGreaterEqual(case["arrays"], 1)
                for implementation in case["implementations"]:
                    with self.subTest(op=case["op"], implementation=implementation):
                        self.check_case(worker, device, case, "f32", implementation=implementation, cache="hot")
                for dtype in case["dtypes"]:
                    with self.subTest(op=case["op"], dtype=dtype):
                        if dtype not in NOT_ON_EVERY_DEVICE or not self.refuses_type(worker, device, case, dtype):
                            self.check_case(worker, device, case, dtype, cache="hot", seed=7)

    def test_calls_that_are_launched_one_by_one(self):
        with Worker() as worker:
            hello = worker.wants("hello", protocol=1)
            for case in hello["cases"]:
                if case["op"] in ("add", "launch"):
                    self.check_case(worker, hello["devices"][0]["id"], case, "f32", cache="hot", dispatch="single")

    def refuses_type(self, worker, device, case, dtype):
        """Whether the device has nothing for a type; the refusal has to say so."""
        shape = worker.wants("resolve", op=case["op"], dtype=dtype, bytes_per_array=SMALL)["shape"]
        answer = worker.ask("prepare", device=device, op=case["op"], dtype=dtype, shape=shape)
        if answer["ok"]:
            worker.wants("release", case=answer["case"])
            return False
        self.assertEqual(answer["error"]["kind"], "unsupported")
        self.assertIn(f"nothing computes {dtype}", answer["error"]["message"])
        return True

    def test_other_layouts(self):
        with Worker() as worker:
            hello = worker.wants("hello", protocol=1)
            for case in hello["cases"]:
                for layout in case["layouts"][1:]:
                    with self.subTest(op=case["op"], layout=layout):
                        resolved = worker.wants("resolve", op=case["op"], dtype="f32", bytes_per_array=SMALL, layout=layout)
                        prepared = worker.wants("prepare", device=hello["devices"][0]["id"], op=case["op"], dtype="f32",
                                                shape=resolved["shape"], layout=layout, cache="hot")
                        if case["kind"] == "op":
                            self.assertTrue(worker.wants("verify", case=prepared["case"])["verified"])

    def test_cold_cases_rotate_and_stay_side_by_side(self):
        with Worker() as worker:
            device = worker.device()
            cases = [worker.wants("prepare", device=device, op="add", dtype="f32", shape={"n": 1 << 20}, cache="cold", seed=seed)
                     for seed in (1, 2)]
            self.assertNotEqual(cases[0]["case"], cases[1]["case"])
            self.assertEqual(cases[0]["footprint_bytes"], cases[0]["copies"] * 12 << 20)
            for case in cases:
                sample = worker.wants("sample", case=case["case"], seconds=0.02)
                self.assertGreaterEqual(sample["batch"], 1)
                self.assertEqual(len(sample["samples"]), len(sample["wall"]))
                self.assertTrue(worker.wants("verify", case=case["case"])["verified"])
                worker.wants("release", case=case["case"])
                self.assertEqual(worker.refused("sample", case=case["case"], seconds=0)[0], "usage")

    def test_large_cases_are_verified_by_samples(self):
        with Worker() as worker:
            case = worker.wants("prepare", device=worker.device(), op="add", dtype="f32", shape={"n": 1 << 20}, cache="hot")
            verified = worker.wants("verify", case=case["case"], budget=1e5)
            self.assertEqual((verified["verified"], verified["method"]), (True, "sampled"))
            self.assertLess(verified["checked"], 1 << 20)
            verified = worker.wants("verify", case=case["case"], budget=1e12)
            self.assertEqual((verified["method"], verified["checked"]), ("all", 1 << 20))

    def test_empty_cases(self):
        with Worker() as worker:
            case = worker.wants("prepare", device=worker.device(), op="add", dtype="f32", shape={"n": 0}, cache="cold")
            self.assertTrue(worker.wants("verify", case=case["case"])["verified"])
            self.assertEqual(len(worker.wants("sample", case=case["case"], seconds=0)["samples"]), 1)

    def test_resolve_tells_cost(self):
        with Worker() as worker:
            resolved = worker.wants("resolve", op="add", dtype="f32", bytes_per_array=1 << 20)
            self.assertEqual(resolved["shape"], {"n": 1 << 18})
            self.assertEqual(resolved["bytes_per_array"], 1 << 20)
            self.assertEqual(resolved["footprint_bytes"], 3 << 20)
            self.assertEqual(resolved["model"], {"bytes": 3 << 20, "flops": 1 << 18, "elements": 1 << 18, "unit": "vector"})
            resolved = worker.wants("resolve", op="scale", dtype="f64", shape={"n": 10}, parameters={"alpha": 3})
            self.assertEqual((resolved["parameters"], resolved["footprint_bytes"]), ({"alpha": 3}, 160))

    def test_count(self):
        with Worker() as worker:
            counted = worker.wants("count", op="add", dtype="f32", shape={"n": 1000})["counted"]
            if not OPTIONS.counts:
                self.assertIsNone(counted)
                return
            self.assertEqual(counted, {"add": 1000, "total": 1000, "source": "kernel"})
            counted = worker.wants("count", op="add", dtype="f32", shape={"n": 1 << 40}, limit=1e6)["counted"]
            self.assertEqual(counted, {"add": 1 << 40, "total": 1 << 40, "source": "closed_form"})

    def test_device_tells_facts(self):
        with Worker() as worker:
            device = worker.device()
            told = worker.wants("device", device=device)["device"]
            self.assertEqual(told["id"], device)
            self.assertIsInstance(told["facts"], dict)
            self.assertIsInstance(told["peaks"], list)
            self.assertEqual(worker.refused("device", device="moon:0")[0], "usage")


def write_images(folder, images, labels, extents):
    """IDX files of images, each a list of bytes, and of their labels."""
    with open(os.path.join(folder, "images"), "wb") as file:
        magic = 2051 if len(extents) == 2 else 2052
        file.write(struct.pack(f">{2 + len(extents)}I", magic, len(images), *extents) + bytes(b for it in images for b in it))
    with open(os.path.join(folder, "labels"), "wb") as file:
        file.write(struct.pack(">2I", 2049, len(labels)) + bytes(labels))


def write_weights(path, arrays):
    """A safetensors file of lists of floats, each with its name and shape."""
    header, content = {}, b""
    for name, shape, values in arrays:
        begin = len(content)
        content += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(content)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content)


# The first of three pixels that is the brightest tells the class.
BRIGHTEST = {"schema": "prumo.net/1", "name": "brightest", "input": {"channels": 1, "height": 2, "width": 2},
             "layers": [{"type": "dense", "features": 3, "bias": False}]}
# No size of the known nets: 3 channels, stride 2, 17 classes.
UNUSUAL = {"schema": "prumo.net/1", "name": "unusual", "input": {"channels": 3, "height": 11, "width": 9},
           "layers": [{"type": "convolution", "channels": 5, "filter": 3, "stride": 2, "activation": "relu"},
                      {"type": "max_pool", "window": 2, "rounding": "up"}, {"type": "dense", "features": 17}]}


class Nets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.worker = Worker()
        self.worker.__enter__()
        self.addCleanup(self.worker.__exit__)
        hello = self.worker.wants("hello", protocol=1)
        self.device = hello["devices"][0]
        found = [it for it in hello.get("workloads", []) if it["workload"] == "inference"]
        if not found:
            self.skipTest("it runs no nets")
        self.inference = found[0]

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def request(self, net, **more):
        return {"device": self.device["id"], "workload": "inference", "net": net, "dtype": "f32", "batch": 3,
                "images": self.path("images"), "labels": self.path("labels"), "weights": self.path("weights"), **more}

    def write_brightest(self):
        images = [[9, 1, 1, 255], [0, 8, 8, 0], [1, 2, 3, 4], [7, 7, 7, 0], [0, 0, 1, 0]]
        write_images(self.folder.name, images, [0, 1, 2, 0, 1], (2, 2))
        write_weights(self.path("weights"), [("dense1.weight", [3, 4], [1.0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0])])

    def write_unusual(self):
        numbers = random.Random(5)
        images = [[numbers.randrange(256) for _ in range(3 * 11 * 9)] for _ in range(7)]
        write_images(self.folder.name, images, [it % 17 for it in range(7)], (3, 11, 9))
        shapes = [("conv1.weight", [5, 3, 3, 3]), ("conv1.bias", [5]), ("dense1.weight", [17, 30]), ("dense1.bias", [17])]
        write_weights(self.path("weights"), [(name, shape, [numbers.uniform(-0.5, 0.5) for _ in range(math.prod(shape))])
                                             for name, shape in shapes])

    def test_every_image_gets_its_class(self):
        self.write_brightest()
        for dtype in self.inference["dtypes"]:
            for batch in (1, 3, 5, 8):
                with self.subTest(dtype=dtype, batch=batch):
                    opened = self.worker.wants("open", **self.request(BRIGHTEST, dtype=dtype, batch=batch))
                    self.assertEqual((opened["images"], opened["classes"], opened["parameters"]), (5, 3, 12))
                    told = self.worker.wants("evaluate", session=opened["session"])
                    self.assertEqual((told["images"], told["correct"], told["predictions"]), (5, 4, [0, 1, 2, 0, 2]))
                    self.worker.wants("close", session=opened["session"])
                    self.assertEqual(self.worker.refused("evaluate", session=opened["session"])[0], "usage")

    def test_every_level_is_verified_and_timed(self):
        self.write_unusual()
        for dtype in self.inference["dtypes"]:
            for data in ("resident", "transferred") if self.device.get("transfers") else ("resident",):
                with self.subTest(dtype=dtype, data=data):
                    opened = self.worker.wants("open", **self.request(UNUSUAL, dtype=dtype, data=data))
                    session = opened["session"]
                    layers = [layer for step in opened["steps"] for layer in step["layers"]]
                    self.assertEqual(layers, ["conv1", "pool1", "dense1"])
                    # 5 x 5 x 4 sums of 27 products, and 17 of 30; two flops each, three images.
                    self.assertEqual(opened["model"]["flops"], 3 * 2 * (5 * 5 * 4 * 27 + 17 * 30))
                    for level in ("net", "layer"):
                        for chosen in ({}, {"budget": 1}, {"images": [6, 0, 2, 5, 1]}):
                            checked = self.worker.wants("check", session=session, level=level, **chosen)
                            self.assertIs(checked["verified"], True, checked)
                            self.assertEqual(checked["differing"], 0)
                            self.assertEqual(checked["checked"], 1 if "budget" in chosen else len(chosen.get("images", "123")))
                    for step in [None, *range(len(opened["steps"]))]:
                        level = {"level": "net"} if step is None else {"level": "layer", "step": step}
                        sample = self.worker.wants("time", session=session, seconds=0, **level)
                        self.assertEqual(len(sample["samples"]), 1)
                        if data == "transferred" and step is None:
                            self.assertEqual(sample["transfer"]["h2d_bytes"], 3 * 3 * 11 * 9)
                        else:
                            self.assertIsNone(sample["transfer"])
                    # Timing and checking have left no other images behind.
                    self.assertIs(self.worker.wants("check", session=session)["verified"], True)
                    self.worker.wants("close", session=session)

    def test_a_batch_beyond_memory_is_refused(self):
        self.write_unusual()
        for batch in (1 << 40, (1 << 62) + 1):
            kind, message = self.worker.refused("open", **self.request(UNUSUAL, batch=batch))
            self.assertEqual(kind, "memory", message)
            self.assertIn("needs", message)
            self.assertIn("available", message)

    def test_what_does_not_exist_or_fit_is_named(self):
        self.write_unusual()
        for change, wanted, said in (({"device": "moon:0"}, "usage", "moon:0"), ({"workload": "dreams"}, "usage", "dreams"),
                                     ({"dtype": "i32"}, "unsupported", "i32"), ({"implementation": "magic"}, "usage", "magic"),
                                     ({"images": "/nowhere"}, "usage", "/nowhere"), ({"net": {}}, "usage", "schema"),
                                     ({"net": BRIGHTEST}, "usage", "channels")):
            kind, message = self.worker.refused("open", **{**self.request(UNUSUAL), **change})
            self.assertEqual(kind, wanted, (change, message))
            self.assertIn(said, message)
        session = self.worker.wants("open", **self.request(UNUSUAL))["session"]
        for change in ({"level": "layer"}, {"level": "layer", "step": 99}, {"step": 0}, {"session": 99}):
            kind, message = self.worker.refused("time", **{"session": session, "seconds": 0, **change})
            self.assertEqual(kind, "usage", (change, message))
        self.assertIn("image 7", self.worker.refused("check", session=session, images=[7])[1])


def main():
    global OPTIONS, SCHEMA
    parser = argparse.ArgumentParser()
    parser.add_argument("--schema", required=True)
    parser.add_argument("--counts", action="store_true")
    parser.add_argument("--chatter")
    parser.add_argument("worker", nargs="+")
    OPTIONS = parser.parse_args()
    SCHEMA = MessageSchema(OPTIONS.schema)
    trial = subprocess.run(OPTIONS.worker, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if trial.returncode == 3:
        print(f"skipped: {trial.stderr.strip()}")
        return 77
    return 0 if unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
