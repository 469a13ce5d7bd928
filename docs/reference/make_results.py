#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns the published figures of the CSV files in this folder into results files (docs/results.md).

usage: make_results.py [--check] [NAME]...

NAME is one of theano-2017, ece408-2019, ece408-2020, mnist-cuda, mnist-training, mps; without a NAME, all of them are made. The script writes NAME.json beside
the CSV files. With --check it writes nothing, and exits with 1 if a file is not what it would write.

The script derives only what follows from the printed numbers, and each result says how. Everything else is null.
"""
import csv
import json
import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MEBIBYTE = 1 << 20


def rows_of(name):
    with open(HERE / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def number(text):
    """A printed number, or null if the cell is empty."""
    return None if not text else int(text) if text.isdigit() else float(text)


def key_of(result):
    """The key as docs/results.md describes it. No text here needs encoding."""
    def pairs(values):
        return ",".join(f"{name}={values[name]}" for name in sorted(values)) or "-"
    return "/".join([result["op"], result["dtype"], pairs(result["shape"]), result["layout"], pairs(result["parameters"]),
                     result["compute_mode"], result["data"], result["host_memory"] or "-", result["cache"]])


def one_run(seconds, clock):
    """The time of a single run. Its quartiles are the sample itself."""
    return {"median": seconds, "p25": seconds, "p75": seconds, "samples": [seconds], "stop": None, "clock": clock}


def make_result(published, *, kind="op", op, shape, device, parameters=None, bytes_per_array=None, seconds=None, clock=None,
                flops=None, hardware=None, size=None, elements=None, no_time=None, cache="cold"):
    """A result with all fields; `flops` and `size` are those of the algorithm, `hardware` what counters saw."""
    def rate(amount):
        return None if seconds is None or amount is None else amount / seconds / 1e9
    result = {
        "kind": kind, "key": "", "op": op, "dtype": "f32", "shape": shape, "layout": "right",
        "parameters": parameters or {}, "compute_mode": "strict", "bytes_per_array": bytes_per_array, "device": device,
        "implementation": None, "data": "resident", "host_memory": None, "cache": cache,
        "status": "skipped" if seconds is None else "ok", "reason": no_time if seconds is None else None,
        "verified": None, "error": None, "error_bound": None,
        "time_s": None if seconds is None else one_run(seconds, clock),
        "wall_s": seconds if clock == "wall" else None, "transfer": None,
        "flops": {"counted": None, "hardware": hardware, "model": flops}, "bytes": size,
        "rates": {"gflops": None, "gbytes": rate(size), "gelements": rate(elements)},
        "percent": {"peak_max_clock": None, "peak_measured_clock": None, "roofline": None}, "bound": None, "roof": None,
        "clock_mhz": None, "temperature_c": None, "energy_j": None, "warnings": [], "published": published}
    result["key"] = key_of(result)
    return result


def make_device(name, backend, title, facts=None, peaks=None, threads=None):
    return {"id": name, "backend": backend, "name": title, "threads": threads, "facts": facts or {}, "peaks": peaks or [],
            "ceilings": []}


def flop_peak(value, clock, mhz, source):
    return {"unit": "vector", "dtype": "f32", "accumulator": None, "value": value, "clock": clock, "clock_mhz": mhz,
            "source": source}


# --- theano-2017 ----------------------------------------------------------------------------------------------------
THEANO = "Melo, Ferreira, Duarte, Zamith: operations of neural networks in Theano, ERAD 2017"
THEANO_LACKS = ["several runs: there is one, cold", "a spread",
                "the shape: the matrices are 512 x n, and only the size of all arrays together is printed"]
GEMM_SHAPE = ("which matrix is 512 x n: m = n = 512 fits the sizes, and so does a product with a 512 x 512 matrix, which "
              "has the same number of flops")


def theano_device(row, ops, stalls):
    name = row["device"]
    cores, clock = int(row["cuda_cores"]), float(row["core_clock_mhz"])
    implied = [1e6 * float(it["mflops_per_s"]) / (float(it["efficiency_percent"]) / 100)
               for it in ops if it["device"] == name and it["op"] == "gemm"]
    facts = {"class": row["class"], "architecture": row["architecture"], "cuda_cores": cores, "core_clock_mhz": clock,
             "memory_clock_mhz": float(row["memory_clock_mhz"]), "memory_bytes": int(row["ram_gb"]) << 30,
             "cache_l2_bytes": int(float(row["l2_mb"]) * MEBIBYTE)}
    for it in stalls:
        if it["device"] == name:
            facts["stalls"] = {"of": "gemm, 6 MB" + ("" if name == "K40" else "; about"),
                               "instruction_fetch_percent": number(it["stall_inst_fetch_percent"]),
                               "execution_dependency_percent": number(it["stall_exec_dependency_percent"])}
    memory = {"unit": "memory", "dtype": None, "accumulator": None, "value": 1e9 * float(row["bandwidth_gb_s"]),
              "clock": None, "clock_mhz": None, "source": "table 1, as printed"}
    return make_device(name, "cuda", name, facts, [
        flop_peak(2e6 * cores * clock, "max", clock, f"{cores} cores x 2 x {clock:.0f} MHz, of table 1"),
        flop_peak(statistics.median(implied), None, None,
                  "implied by the study's efficiencies of gemm: {:.0f} to {:.0f} GFLOP/s, their median".format(
                      min(implied) / 1e9, max(implied) / 1e9)),
        memory])


def theano_result(row):
    op, total = row["op"], int(row["mb"]) * MEBIBYTE
    rate = 1e6 * float(row["mflops_per_s"])
    published = {"source": THEANO + (", table 2" if op in ("add", "mul", "gemm") else ", table 3"), "lacks": THEANO_LACKS,
                 "derived": [], "figures": {"mb": int(row["mb"]), "mflops_per_s": float(row["mflops_per_s"]),
                                            "efficiency_percent": float(row["efficiency_percent"])}}
    if op == "gemm":  # 512 x k, k x 512 and 512 x 512 of four bytes each
        k = (total // 4 - 512 * 512) // (2 * 512)
        flops = 2 * 512 * 512 * k
        published["lacks"] = THEANO_LACKS + [GEMM_SHAPE]
        published["derived"] = ["k, from the size of all arrays", "the time: 2 m n k flops over the printed rate"]
        return make_result(published, op=op, shape={"m": 512, "n": 512, "k": k},
                           parameters={"alpha": 1, "beta": 0, "trans_a": 0, "trans_b": 0},
                           bytes_per_array=4 * 512 * k, device=row["device"], seconds=flops / rate, clock="device",
                           flops=flops, hardware={"total": flops, "formula": "flop_count_sp: add + mul + 2 fma"}, size=total,
                           elements=512 * 512)
    arrays = 3 if op in ("add", "mul") else 2
    elements = total // arrays // 4
    common = {"op": op, "shape": {"n": elements}, "bytes_per_array": total // arrays, "device": row["device"], "size": total}
    if op in ("sigmoid", "tanh"):
        why = (f"the rate counts hardware flops, about 10 an element; the number for {op} is not printed, so no time "
               "follows")
        published["lacks"] = THEANO_LACKS + ["flops an element"]
        return make_result(published, **common, hardware={"total": None, "formula": "flop_count_sp", "reason": why}, no_time=why)
    published["derived"] = ["the time: one flop an element over the printed rate"]
    factor = {"alpha": 2.5} if op == "scale" else {}
    if factor:
        published["lacks"] = THEANO_LACKS + ["the factor: the key has prumo's own"]
    return make_result(published, **common, parameters=factor, seconds=elements / rate, clock="device", flops=elements,
                       hardware={"total": elements, "formula": "flop_count_sp: add + mul + 2 fma"}, elements=elements)


def theano_2017():
    ops, stalls = rows_of("theano_2017_ops.csv"), rows_of("theano_2017_stalls.csv")
    return [theano_device(row, ops, stalls) for row in rows_of("theano_2017_devices.csv")], [theano_result(row) for row in ops]


# --- ece408-2019 ----------------------------------------------------------------------------------------------------
ECE408 = "ECE408 project report 2019: MXNet, Fashion-MNIST, model ece408, 48 x 48 input"
ECE408_LACKS = ["the device's name", "whether the device was synchronised", "several runs", "a spread"]


def course_layer(images, in_channels, side, out_channels, filter_side):
    """The axes of prumo's own operation, so that rows meet."""
    return {"images": images, "in_channels": in_channels, "height": side, "width": side, "out_channels": out_channels,
            "filter_rows": filter_side, "filter_columns": filter_side}


def course_convolution(published, layer, device, seconds):
    """The time of one layer's convolution, which has no bias, no activation and no pooling."""
    out = (layer["height"] - layer["filter_rows"] + 1) * (layer["width"] - layer["filter_columns"] + 1)
    flops = 2 * layer["images"] * out * layer["out_channels"] * layer["in_channels"] * layer["filter_rows"] ** 2
    alone = {"activation": 0, "bias": 0, "padding": 0, "pooling": 0, "round_up": 0, "stride": 1, "window": 2}
    published = dict(published, derived=published["derived"] + ["flops, from the shapes of the layers"])
    return make_result(published, op="convolution", shape=layer, parameters=alone, device=device, seconds=seconds,
                       clock="wall", flops=flops)


def ece408_2019():
    devices = [make_device("CPU", "mxnet", None, {"program": "the course's convolution for CPUs"}),
               make_device("GPU", "cuda", None, {"program": "a first CUDA kernel"})]
    results = []
    for row in rows_of("ece408_2019_inference.csv"):
        images = int(row["batch"])
        figures = {"correctness": number(row["correctness"])}
        for name, shape in (("op1_s", (images, 1, 48, 6, 5)), ("op2_s", (images, 6, 22, 16, 5))):
            published = {"source": ECE408, "lacks": ECE408_LACKS, "derived": [],
                         "figures": dict(figures, **{name: number(row[name])})}
            results.append(course_convolution(published, course_layer(*shape), row["device"], number(row[name])))
        elapsed = number(row["program_elapsed_s"])
        published = {"source": ECE408, "lacks": ["the device's name", "several runs", "a spread"], "derived": [],
                     "figures": dict(figures, program_elapsed_s=elapsed)}
        results.append(make_result(published, kind="program", op="ece408-2019", shape={"images": images},
                                   device=row["device"], seconds=elapsed, clock="wall",
                                   no_time="the report does not print it"))
    return devices, results


# --- ece408-2020 ----------------------------------------------------------------------------------------------------
ECE408_2020 = "ECE408 project 2020: mini-dnn-cpp, Fashion-MNIST, 86 x 86 input"


def ece408_2020():
    devices = []
    results = []
    for row in rows_of("ece408_2020_inference.csv"):
        if not row["op1_ms"]:
            continue  # an accuracy alone
        device = row["report"]
        if all(it["id"] != device for it in devices):
            on = "CPU" if row["device"] == "CPU" else "GPU"
            devices.append(make_device(device, "cpu" if on == "CPU" else "cuda", None, {"ran_on": row["device"]}))
        images = int(row["batch"])
        figures = {"accuracy": number(row["accuracy"])}
        for name, shape in (("op1_ms", (images, 1, 86, 4, 7)), ("op2_ms", (images, 4, 40, 16, 7))):
            published = {"source": ECE408_2020 + ": " + row["report"], "lacks": ECE408_LACKS, "derived": [],
                         "figures": dict(figures, **{name: number(row[name])})}
            results.append(course_convolution(published, course_layer(*shape), device, number(row[name]) / 1000))
    return devices, results


# --- mnist-cuda -----------------------------------------------------------------------------------------------------
MNIST = "De Felice Lima, Nunan Zola (UFPR): training of a convolutional network on MNIST in CUDA C"


def mnist_cuda():
    devices = [make_device("T4", "cuda", "Tesla T4", {"program": "CUDA C"}),
               make_device("Xeon", "keras", "Xeon 2 cores 2.20 GHz", {"program": "Keras with TensorFlow", "cores": 2}, threads=None)]
    ids = {device["name"]: device["id"] for device in devices}
    results = []
    for row in rows_of("mnist_cuda_training.csv"):
        published = {"source": MNIST, "lacks": ["time of each epoch", "accuracy by epoch", "several runs", "a spread"],
                     "derived": [], "figures": {"epochs": int(row["epochs"]), "total_s": number(row["total_s"])}}
        results.append(make_result(published, kind="training", op="mnist-cuda", shape={"epochs": int(row["epochs"])},
                                   device=ids[row["device"]], seconds=float(row["total_s"]), clock="wall"))
    return devices, results


# --- mnist-training -------------------------------------------------------------------------------------------------
def mnist_training():
    devices, ids, results = [], {}, []
    for row in rows_of("mnist_training_others.csv"):
        if not row["epochs"] and not row["batch"]:
            continue  # no training
        if row["device"] not in ids:
            ids[row["device"]] = f"published:{len(ids)}"
            devices.append(make_device(ids[row["device"]], "published", row["device"]))
        epochs = number(row["epochs"])
        figures = {"epochs": epochs, "batch": number(row["batch"]), "total_s": number(row["seconds"]), "accuracy": number(row["accuracy"])}
        published = {"source": f"{row['source']}: {row['what']}", "lacks": ["a spread", "what the time includes"], "derived": [],
                     "figures": figures}
        results.append(make_result(published, kind="training", op="mnist-training", shape={"epochs": int(epochs)} if epochs else {},
                                   device=ids[row["device"]], seconds=float(row["seconds"]), clock="wall"))
    return devices, results


# --- mps ------------------------------------------------------------------------------------------------------------
LESSON = "Lesson on GPU, CPU and TPU in PyTorch: 100 times x @ y.T and sum of random matrices"


def mps():
    devices = [make_device("MPS", "mps", "Apple MPS"), make_device("CPU", "torch", None)]
    ids = {"Apple MPS": "MPS", "CPU": "CPU"}
    results = []
    for row in rows_of("crossover_mps.csv"):
        m, n, k, repeats = (int(row[name]) for name in ("m", "n", "k", "repeats"))
        published = {"source": LESSON,
                     "lacks": ["synchronisation: the clock was read while the device may still have been working, so the time "
                               "is a floor", "several runs", "a spread", "the device's name",
                               "whether the random numbers are part of the time"],
                     "derived": [f"the time of a call: that of {repeats} calls, over {repeats}"],
                     "figures": {"repeats": repeats, "seconds": float(row["seconds"])}}
        results.append(make_result(published, op="matmul_sum", shape={"m": m, "n": n, "k": k}, device=ids[row["device"]],
                                   seconds=float(row["seconds"]) / repeats, clock="wall", flops=2 * m * n * k + m * n,
                                   size=4 * (m * k + n * k + 1), elements=m * n, cache="hot"))
    return devices, results


SETS = {"theano-2017": theano_2017, "ece408-2019": ece408_2019, "ece408-2020": ece408_2020, "mnist-cuda": mnist_cuda,
        "mnist-training": mnist_training, "mps": mps}


def text_of(name):
    devices, results = SETS[name]()
    run = {"id": f"published-{name}", "started": None, "command": ["docs/reference/make_results.py", name], "versions": {},
           "host": {}, "cpu": {}, "memory": {}, "power": {}, "environment": {}}
    def lines(objects):
        return ",\n".join("    " + json.dumps(it) for it in objects)
    return ('{\n  "schema": "prumo.results/1",\n  "run": ' + json.dumps(run) + ',\n  "devices": [\n' + lines(devices) +
            '\n  ],\n  "results": [\n' + lines(results) + "\n  ]\n}\n")


def main(words):
    check = "--check" in words
    names = [word for word in words if word != "--check"] or list(SETS)
    unknown = [name for name in names if name not in SETS]
    if unknown:
        print(f"make_results.py: there is no '{unknown[0]}'; there are: {', '.join(SETS)}", file=sys.stderr)
        return 2
    differs = False
    for name in names:
        path, text = HERE / f"{name}.json", text_of(name)
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"make_results.py: {path.name} is not what the CSV files give; run docs/reference/make_results.py",
                  file=sys.stderr)
            differs = True
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
