# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A net that nobody knows, with its own images and weights, by prumo's own worker for the host:

    own_net.py PRUMO

The net has 3 channels, stride 2 and 17 classes. Its files are plain, then compressed; both give the same predictions. Exits with
77 where there is no worker for the host.
"""
import gzip
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

NET = {"schema": "prumo.net/1", "name": "own", "input": {"channels": 3, "height": 21, "width": 17},
       "layers": [{"type": "convolution", "channels": 5, "filter": 4, "stride": 2, "padding": 1, "activation": "tanh"},
                  {"type": "max_pool", "window": 2, "rounding": "up"}, {"type": "dense", "features": 17}, {"type": "softmax"}]}
SHAPES = {"conv1.weight": [5, 3, 4, 4], "conv1.bias": [5], "dense1.weight": [17, 100], "dense1.bias": [17]}
IMAGES = 60


def idx(magic, extents, content):
    return struct.pack(f">{1 + len(extents)}I", magic, *extents) + bytes(content)


def write_weights(path, numbers):
    header, content = {}, b""
    for name, shape in SHAPES.items():
        count = math.prod(shape)
        values = [numbers.uniform(-0.4, 0.4) for _ in range(count)]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(content), len(content) + 4 * count]}
        content += struct.pack(f"<{count}f", *values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content)


def run(prumo, folder, images):
    results = os.path.join(folder, "r.json")
    command = [prumo, "infer", "--net", os.path.join(folder, "own.json"), "--weights", os.path.join(folder, "own.safetensors"),
               "--data", images, "--batch", "7,100", "--dtype", "f32,f64,f16,bf16", "--level", "layer,net,program",
               "--device", "openmp", "--no-probe", "--time-budget", "2s", "-o", results, "--force"]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode == 3 and "no device" in ran.stderr:
        sys.exit(77)
    assert ran.returncode == 0, (ran.returncode, ran.stderr, ran.stdout)
    assert "17 classes" in ran.stdout and f"data: {IMAGES} images of" in ran.stdout, ran.stdout
    with open(results, encoding="utf-8") as file:
        return json.load(file)["results"]


def main():
    numbers = random.Random(24)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "own.json"), "w", encoding="utf-8") as file:
            json.dump(NET, file)
        write_weights(os.path.join(folder, "own.safetensors"), numbers)
        size = 3 * 21 * 17
        images = idx(2052, (IMAGES, 3, 21, 17), (numbers.randrange(256) for _ in range(IMAGES * size)))
        labels = idx(2049, (IMAGES,), (numbers.randrange(17) for _ in range(IMAGES)))
        accuracies = []
        for end, pack in (("", bytes), (".gz", gzip.compress)):
            for name, content in (("images-idx4", images), ("labels-idx1", labels)):
                with open(os.path.join(folder, f"own-{name}-ubyte{end}"), "wb") as file:
                    file.write(pack(content))
            results = run(sys.argv[1], folder, os.path.join(folder, f"own-images-idx4-ubyte{end}"))
            kinds = sorted({it["kind"] for it in results})
            assert kinds == ["inference", "layer", "program"], kinds
            assert len(results) == 4 * 2 * (3 + 1 + 1), [it["key"] for it in results]
            for it in results:
                assert it["status"] == "ok", it
                assert it["kind"] == "program" or it["verified"] is True, it
            accuracies.append([(it["key"], it["accuracy"]) for it in results if it["kind"] == "inference"])
        assert accuracies[0] == accuracies[1], accuracies
    return 0


if __name__ == "__main__":
    sys.exit(main())
