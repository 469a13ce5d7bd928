#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the weights that prumo ships (nets/weights): `prumo train` trains each net on the digits that prumo draws. The table and
the digests of the README there are written anew, too.

A device and a build give the same files, bit by bit, whatever the number of threads. Others round in other places, so that weights
and accuracies differ a little.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "nets" / "weights"

# The options of `prumo train` for each net; all else is as usual.
RECIPES = {
    "lenet5": "--epochs 12",
    "ece408-2019": "--epochs 5 --weights-dtype f16",
    "ece408-2020": "--epochs 3",
    "mnist-2f": "--epochs 20 --optimizer adam --learning-rate 0.003",
}


def arguments():
    parser = argparse.ArgumentParser(description="Trains the nets whose weights come with prumo, by prumo itself.")
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"some of {', '.join(RECIPES)} (default: all)")
    parser.add_argument("--prumo", default="prumo", help="the program (default: the one on the path)")
    parser.add_argument("--device", help="where to train, such as cuda:0 (default: prumo's first device)")
    parser.add_argument("--output", type=pathlib.Path, default=FOLDER, metavar="FOLDER",
                        help="where the files are written (default: nets/weights of the tree)")
    parser.add_argument("--readme-only", action="store_true", help="train nothing; write the README of the files that are there")
    it = parser.parse_args()
    if unknown := set(it.nets) - set(RECIPES):
        parser.error(f"there is no recipe for {', '.join(sorted(unknown))}; there are: {', '.join(RECIPES)}")
    return it


def prumo(it, *words):
    device = ["--device", it.device] if it.device else []
    command = [it.prumo, *words, *device]
    if subprocess.run(command).returncode != 0:
        sys.exit(f"train_weights.py: failed: {' '.join(command)}")


def file_of(it, net):
    return it.output / f"{net}-digits.safetensors"


def right_of_first(it, net, images):
    """How many of the first test images the file's weights recognize."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "r.json"
        prumo(it, "infer", "--net", net, "--weights", str(file_of(it, net)), "--digits", str(images), "--batch", str(images),
              "--dtype", "f32", "--level", "net", "-o", str(results))
        told = json.loads(results.read_text())["results"][0]
        if told["verified"] is not True:
            sys.exit(f"train_weights.py: the results of {net} are not verified: {told['reason']}")
        return told["accuracy"]["correct"], told["weights_sha256"]


def metadata(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    sizes = [it["shape"] for name, it in header.items() if name != "__metadata__"]
    count = 0
    for shape in sizes:
        product = 1
        for extent in shape:
            product *= extent
        count += product
    return header["__metadata__"], count


def write_readme(it):
    rows, digests = [], []
    for net, options in RECIPES.items():
        notes, count = metadata(file_of(it, net))
        right, digest = right_of_first(it, net, 1000)
        rows.append(f"| `{file_of(it, net).name}` | {count:,} | {100 * float(notes['test_accuracy']):.2f} % | {right} | "
                    f"`--net {net} {options}` |")
        digests.append(f"{digest}  {file_of(it, net).name}")
    path = it.output / "README.md"
    text = (path if path.exists() else FOLDER / "README.md").read_text()
    text = re.sub(r"(\|---.*\n)(\|.*\n)+", lambda found: found[1] + "\n".join(rows) + "\n", text)
    text = re.sub(r"```\n([0-9a-f]{64}  .*\n)+", lambda _: "```\n" + "\n".join(digests) + "\n", text)
    path.write_text(text)


def main():
    it = arguments()
    it.output.mkdir(parents=True, exist_ok=True)
    if not it.readme_only:
        for net in it.nets or RECIPES:
            prumo(it, "train", "--net", net, *RECIPES[net].split(), "--weights", str(file_of(it, net)), "--force")
    if all(file_of(it, net).exists() for net in RECIPES):
        write_readme(it)
    return 0


if __name__ == "__main__":
    sys.exit(main())
