#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of scripts/performance_tables.py and scripts/shorten_results.py, with small results files made here."""
import io
import json
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "scripts"))
import performance_tables as tables  # noqa: E402
import shorten_results  # noqa: E402

MEBIBYTE = 1 << 20


def result(op, size, device, microseconds, *, implementation="kernel", share=95.4, verified=True, shape=None, **other):
    seconds = microseconds / 1e6
    one = {
        "key": f"{op}/{size}/{shape}", "op": op, "dtype": "f32", "shape": shape or {"n": size // 4}, "layout": "right",
        "parameters": {}, "compute_mode": "strict", "bytes_per_array": size, "device": device,
        "implementation": implementation, "data": "resident", "host_memory": None, "cache": "cold", "status": "ok",
        "verified": verified,
        "time_s": {"median": seconds, "p25": 0.9 * seconds, "p75": 1.1 * seconds, "samples": [0.8 * seconds, seconds,
                   seconds, 1.2 * seconds], "runs": [4], "stop": "settled", "clock": "wall"},
        "rates": {"gflops": None, "gbytes": 3 * size / seconds / 1e9, "gelements": None}, "percent": {"roofline": share},
    }
    return {**one, **other}


def document(*results):
    devices = [{"id": name, "backend": name[:4], "name": "Example GPU", "threads": None, "facts": {"uuid": "GPU-1"},
                "peaks": [], "ceilings": []} for name in ("cuda:0", "torch-cuda:0")]
    return {"schema": "prumo.results/1", "devices": devices, "results": list(results),
            "run": {"id": "1", "started": "2026-11-21T10:15:00Z", "versions": {"prumo": "0.1.0", "blas": None, "worker cuda": "0.1.0"},
                    "command": ["/home/me/bin/prumo", "bench", "--worker", "new=/home/me/worker", "-o", "/tmp/r.json"],
                    "host": {"name": "station"}, "cpu": {"name": "Example CPU", "id": 7}, "memory": {}, "power": {},
                    "environment": {"HOME": "/home/me"}}}


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)

    def write(self, *results):
        (self.tree / "r.json").write_text(json.dumps(document(*results)), encoding="utf-8")

    def rewritten(self, mark, between="old\n"):
        return tables.rewrite("text.md", f"before\n{mark}\n{between}<!-- end -->\nafter\n", self.tree)

    def table(self, words):
        lines = self.rewritten(f"<!-- table: r.json {words} -->").splitlines()
        self.assertEqual((lines[0], lines[-2:]), ("before", ["<!-- end -->", "after"]))
        return lines[2:-2]

    def fault(self, mark):
        with self.assertRaises(tables.Fault) as caught:
            self.rewritten(mark)
        return str(caught.exception)


class Tables(InAFolder):
    def test_properties_that_vary_are_columns_and_others_stand_above(self):
        self.write(result("add", 32 * MEBIBYTE, "cuda:0", 24.64), result("add", 2 * MEBIBYTE, "cuda:0", 2.849),
                   result("add", 2 * MEBIBYTE, "torch-cuda:0", 3.04, share=None),
                   result("sum", 2 * MEBIBYTE, "cuda:0", 199.96, share=None))
        self.assertEqual(self.table("columns=cuda:0,torch-cuda:0 op=sum,add"), [
            "f32, resident, cold, time of one call in us.", "",
            "| operation | size | prumo | % of roofline | PyTorch |", "|---|---|---|---|---|",
            "| sum | 2 MiB | 200 | - | - |", "| add | 2 MiB | 2.85 | 95 | 3.04 |", "| add | 32 MiB | 24.6 | 95 | - |"])

    def test_filters_choose_and_order_rows(self):
        self.write(*(result(op, size * MEBIBYTE, "cuda:0", size, cache=cache)
                     for op in ("add", "sum") for size in (2, 8, 32) for cache in ("cold", "hot")))
        lines = self.table("columns=cuda:0 op=add size=32MiB,2MiB cache=hot roofline=no")
        self.assertEqual(lines[0], "f32, resident, hot, time of one call in us.")
        self.assertEqual(lines[4:], ["| add | 32 MiB | 32.0 |", "| add | 2 MiB | 2.00 |"])

    def test_a_property_may_go_across(self):
        self.write(*(result(op, size * MEBIBYTE, device, size) for op in ("add", "sum") for size in (2, 8)
                     for device in ("cuda:0", "torch-cuda:0") if (op, size) != ("sum", 2)))
        self.assertEqual(self.table("columns=cuda:0,torch-cuda:0 across=size roofline=no")[2:], [
            "| operation | 2 MiB: prumo | PyTorch | 8 MiB: prumo | PyTorch |", "|---|---|---|---|---|",
            "| add | 2.00 | 2.00 | 8.00 | 8.00 |", "| sum | - | - | 8.00 | 8.00 |"])
        self.assertEqual(self.table("columns=cuda:0 across=size size=8MiB op=add")[4], "| add | 8.00 | 95 |")

    def test_the_fastest_correct_implementation_counts_unless_one_is_named(self):
        self.write(result("gemm", MEBIBYTE, "cuda:0", 5, implementation="cublas"),
                   result("gemm", MEBIBYTE, "cuda:0", 4, implementation="wrong", verified=False),
                   result("gemm", MEBIBYTE, "cuda:0", 7, implementation="portable"))
        lines = self.table("columns=cuda:0,cuda:0/portable")
        self.assertEqual(lines[2], "| operation | prumo | % of roofline | prumo, portable |")
        self.assertEqual(lines[4], "| gemm | 5.00 | 95 | 7.00 |")

    def test_shapes_stand_there_only_where_nothing_else_tells_rows_apart(self):
        rows = [result("softmax", MEBIBYTE, "cuda:0", 1, shape={"rows": 256, "columns": 1024}),
                result("softmax", MEBIBYTE, "cuda:0", 2, shape={"rows": 32, "columns": 8192})]
        self.write(*rows, result("softmax", MEBIBYTE, "cuda:0", 3, cache="hot", shape={"rows": 1, "columns": 1}))
        self.assertIn("| softmax | columns = 8192, rows = 32 | 2.00 | 95 |", self.table("columns=cuda:0 cache=cold"))
        self.assertEqual(self.table("columns=cuda:0 cache=cold shape=columns:8192")[4:], ["| softmax | 2.00 | 95 |"])
        self.write(rows[0], result("add", MEBIBYTE, "cuda:0", 2))
        self.assertEqual(self.table("columns=cuda:0")[2], "| operation | prumo | % of roofline |")

    def test_extents_may_be_columns(self):
        self.write(*(result("softmax", rows * MEBIBYTE, "cuda:0", rows, shape={"rows": rows, "columns": 8})
                     for rows in (10, 9)))
        self.assertEqual(self.table("columns=cuda:0 axes=columns,rows roofline=no")[2:], [
            "| operation | columns | rows | prumo |", "|---|---|---|---|",
            "| softmax | 8 | 9 | 9.00 |", "| softmax | 8 | 10 | 10.0 |"])

    def test_rates_and_units(self):
        self.write(result("add", 2 * MEBIBYTE, "cuda:0", 3), result("add", 512 * MEBIBYTE, "cuda:0", 12000.4))
        self.assertEqual(self.table("columns=cuda:0 value=gbytes size=2MiB")[0], "f32, 2 MiB, resident, cold, GB/s.")
        self.assertEqual(self.table("columns=cuda:0 value=gbytes size=2MiB")[4], "| add | 2097 | 95 |")
        self.assertEqual(self.table("columns=cuda:0 size=512MiB")[4], "| add | 12.0 | 95 |")
        self.assertIn("in ms.", self.table("columns=cuda:0 size=512MiB")[0])

    def test_three_digits(self):
        self.assertEqual([tables.three_digits(value) for value in (12345.6, 99.95, 99.94, 9.996, 1, 0.99951, 0.0768, 0)],
                         ["12346", "100", "99.9", "10.0", "1.00", "1.00", "0.0768", "0.000000"])

    def test_what_was_not_verified_is_marked_and_what_failed_is_left_out(self):
        self.write(result("add", MEBIBYTE, "cuda:0", 3, verified=None),
                   result("sum", MEBIBYTE, "cuda:0", 3, status="failed", time_s=None))
        lines = self.table("columns=cuda:0")
        self.assertEqual(lines[4], "| add | 3.00 * | 95 |")
        self.assertEqual(lines[6], "\\* This run did not compare the result with a reference.")

    def test_a_share_that_is_in_doubt_says_so(self):
        self.write(result("add", MEBIBYTE, "cuda:0", 3, share=404, warnings=["about the clock", "UNSTEADY: 404 % of it"]))
        self.assertEqual(self.table("columns=cuda:0")[4], "| add | 3.00 | 404, unsteady |")

    def test_a_run_is_described_without_paths(self):
        self.write()
        self.assertEqual(self.rewritten("<!-- run: r.json -->").splitlines()[2:-2], [
            "Example GPU (cuda:0, torch-cuda:0); measured on 2026-11-21; prumo 0.1.0.", "", "```sh",
            "prumo bench --worker new=worker", "```"])


class Faults(InAFolder):
    def test_each_is_told_with_its_place(self):
        self.write(result("add", MEBIBYTE, "cuda:0", 3))
        (self.tree / "other.json").write_text('{"schema": "prumo.results/2"}', encoding="utf-8")
        for mark, expected in {
            "<!-- table: none.json columns=cuda:0 -->": "none.json: cannot be read",
            "<!-- table: other.json columns=cuda:0 -->": "is not a file of prumo.results/1",
            "<!-- table: r.json -->": "a table needs a results file and columns",
            "<!-- table: r.json columns=cuda:0 size -->": "'size' is not NAME=VALUE",
            "<!-- table: r.json columns=cuda:0 sise=2MiB -->": "there is no 'sise'; there are: columns",
            "<!-- table: r.json columns=cuda:0 across=sise -->": "across=sise: there is no such property",
            "<!-- table: r.json columns=cuda:0 value=speed -->": "there is no value 'speed'",
            "<!-- table: r.json columns=cuda:0 axes=depth -->": "axes=depth: a result has no such axis",
            "<!-- table: r.json columns=cuda:0,torch-cuda:0 -->": "no measured result of torch-cuda:0 matches",
            "<!-- table: r.json columns=cuda:0 op=sum -->": "no measured result of cuda:0 matches",
        }.items():
            with self.subTest(mark):
                self.assertIn(expected, self.fault(mark))
                self.assertTrue(self.fault(mark).startswith("text.md:2: "))

    def test_a_mark_without_an_end(self):
        with self.assertRaisesRegex(tables.Fault, "text.md:1: the mark has no '<!-- end -->'"):
            tables.rewrite("text.md", "<!-- run: r.json -->\n<!-- run: r.json -->\n<!-- end -->\n", self.tree)

    def test_marks_in_code_are_text(self):
        text = "```\n<!-- table: none.json -->\n```\n"
        self.assertEqual(tables.rewrite("text.md", text, self.tree), text)


class Documents(InAFolder):
    def test_check_finds_a_difference_and_writes_nothing(self):
        self.write(result("add", MEBIBYTE, "cuda:0", 3))
        file = self.tree / "text.md"
        file.write_text("<!-- table: r.json columns=cuda:0 -->\n| add | 2.00 |\n<!-- end -->\n", encoding="utf-8")
        before = file.read_text(encoding="utf-8")
        self.assertEqual(tables.update([file], True, self.tree), [file])
        self.assertEqual(file.read_text(encoding="utf-8"), before)
        self.assertEqual(tables.update([file], False, self.tree), [file])
        self.assertEqual(tables.update([file], True, self.tree), [])

    def test_program(self):
        file = self.tree / "text.md"
        file.write_text("no table\n", encoding="utf-8")
        said = io.StringIO()
        with redirect_stderr(said), redirect_stdout(said):
            self.assertEqual(tables.main(["--check", str(file)]), 0)
            self.assertEqual(tables.main(["--help"]), 0)
            self.assertEqual(tables.main(["--chekc"]), 2)
            self.assertEqual(tables.main([str(self.tree / "none.md")]), 1)
            self.assertEqual(shorten_results.main(["one.json"]), 2)
            self.assertEqual(shorten_results.main([str(self.tree / "none.json"), str(file)]), 1)
        self.assertIn("usage: performance_tables.py", said.getvalue())
        self.assertIn("performance_tables: ", said.getvalue())


class Shortened(InAFolder):
    def test_same_tables_from_less_and_without_the_machine(self):
        self.write(result("add", MEBIBYTE, "cuda:0", 3), result("sum", MEBIBYTE, "cuda:0", 3, status="failed", time_s=None))
        self.assertEqual(shorten_results.main([str(self.tree / "r.json"), str(self.tree / "short.json")]), 0)
        text = (self.tree / "short.json").read_text(encoding="utf-8")
        for identity in ("station", "GPU-1", "HOME", "/home", "/tmp"):
            self.assertNotIn(identity, text)
        short = json.loads(text)
        self.assertEqual([one["op"] for one in short["results"]], ["add"])
        time = short["results"][0]["time_s"]
        self.assertEqual((time["samples"], time["samples_measured"]), ([time["p25"], time["median"], time["p75"]], 4))
        self.assertNotIn("runs", time)
        before = self.table("columns=cuda:0")
        (self.tree / "r.json").write_text(text, encoding="utf-8")
        self.assertEqual(self.table("columns=cuda:0"), before)


if __name__ == "__main__":
    unittest.main()
