# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A conversation with a real worker, as docs/protocol.md has it:

    python3 conversation_test.py --schema FILE [--counts] [--chatter OPTION] -- WORKER [ARGUMENT...]

--schema: docs/protocol.schema.json, which every answer is held against, and from which the wrong requests are made.
--counts: the worker counts flops. --chatter: an option that makes a library of the worker print to standard output.
Exits with 77 where the worker says that it cannot run here (exit code 3).
"""

import json
import math
import os
import subprocess
import sys
import unittest

from conversation import OPTIONS, WORKLOADS, Worker, run
from message_schema import wrong_values

SMALL = 64 << 10  # bytes of an array
MATRIX_UNITS = "tensor"  # an implementation that multiplies f32 in fast modes only
NOT_ON_EVERY_DEVICE = ("f8_e4m3",)  # of matrix products, by the libraries of some GPUs alone


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
            self.assertEqual(set(hello["features"]) - {"workloads"}, set(OPTIONS.schema.requests()) - {"hello"} - WORKLOADS)
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
            complete.update(workload="inference", net={}, batch=1, images="i", labels="l", weights="w", session=1, path="p")
            runs_nets = "workloads" in worker.wants("hello", protocol=1)["features"]
            for request in OPTIONS.schema.requests():
                if request == "count" and not OPTIONS.counts:
                    continue  # it answers null to whatever is asked
                if request in WORKLOADS and not runs_nets:
                    self.assertIn("there is no request", worker.refused(request)[1])
                    continue
                described = OPTIONS.schema.message(f"{request}.request")
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
                        dtype = "f16" if implementation == MATRIX_UNITS else "f32"
                        self.check_case(worker, device, case, dtype, implementation=implementation, cache="hot")
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


if __name__ == "__main__":
    sys.exit(run())
