#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a net in PyTorch and writes its weights as safetensors, in the names and layouts that prumo reads.

The weights that prumo ships (nets/weights) are made by this script. All random numbers come from one seed, but sums are
in PyTorch's order, so another version of it or another machine gives weights that differ in their last digits.
"""

import argparse
import hashlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench" / "peers"))

_EXAMPLES = """examples:
  prumo data generate digits
  prumo data info lenet5 --json > lenet5.json
  train_weights.py lenet5.json digits lenet5-digits.safetensors

  prumo data resize digits digits-86 --size 86
  prumo data info ece408-2020 --json > ece408-2020.json
  train_weights.py ece408-2020.json digits-86 ece408-2020-digits.safetensors
"""


def arguments():
    parser = argparse.ArgumentParser(description="Trains a net and writes its weights.", epilog=_EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("net", help="the net's JSON file, as `prumo data info NET --json` prints it")
    parser.add_argument("data", help="a folder of IDX files under their usual names (train-..., t10k-...)")
    parser.add_argument("output", help="the safetensors file that is written")
    parser.add_argument("--data-name", default="digits", help="what the file says about its data (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the training images (default: %(default)s)")
    parser.add_argument("--batch", type=int, default=128, help="images of a step (default: %(default)s)")
    parser.add_argument("--learning-rate", type=float, default=0.1,
                        help="the largest learning rate; it rises for a tenth of the steps and falls to zero along a "
                             "cosine (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the first weights and the order (default: %(default)s)")
    parser.add_argument("--dtype", choices=("f32", "f16"), default="f32",
                        help="the type of the weights in the file. f16 takes half the space; the weights are rounded "
                             "before the accuracy is measured (default: %(default)s)")
    parser.add_argument("--least-accuracy", type=float, default=0, metavar="PERCENT",
                        help="write nothing and exit with 1 below this accuracy on the test images")
    return parser.parse_args()


def main():
    it = arguments()
    try:
        import torch
        from torch.nn import functional
    except ModuleNotFoundError as error:
        sys.exit(f"{error}. Install PyTorch, for example by: python3 -m venv torch && torch/bin/pip install numpy torch")
    from prumo_peers.nets import description, files
    from prumo_peers.nets.torch_net import TorchNet

    try:
        net = description.parse(json.loads(pathlib.Path(it.net).read_text()))
        (train, train_labels), (test, test_labels) = (files.read_folder(it.data, name) for name in ("train", "t10k"))
    except (OSError, ValueError, KeyError) as error:
        print(f"train_weights.py: {error}", file=sys.stderr)
        return 2
    if train.shape[1:] != net.input:
        print(f"train_weights.py: {it.data} holds images of {train.shape[1:]}, and the net {net.name} takes {net.input}; "
              f"make others by: prumo data resize {it.data} FOLDER --size {net.input[1]}x{net.input[2]}", file=sys.stderr)
        return 2
    generator = torch.Generator().manual_seed(it.seed)
    model = TorchNet(net)
    model.initialize(generator)

    # A byte becomes a number from 0 to 1, as prumo's nets take it.
    x, labels = torch.from_numpy(train).float() / 255, torch.from_numpy(train_labels).long()
    test_x, test_y = torch.from_numpy(test).float() / 255, torch.from_numpy(test_labels).long()
    # A sigmoid at the end would blunt the loss: its scores are trained, and keep their order behind it.
    scores = last_scores(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=it.learning_rate, momentum=0.9, nesterov=True)
    steps = it.epochs * -(-len(x) // it.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, it.learning_rate, steps, pct_start=0.1,
                                                   cycle_momentum=False)
    for epoch in range(it.epochs):
        total = 0.0
        for chosen in torch.randperm(len(x), generator=generator).split(it.batch):
            loss = functional.cross_entropy(scores(x[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(chosen)
        accuracy = accuracy_of(model, test_x, test_y)
        print(f"epoch {epoch + 1}: loss {total / len(x):.4f}, {100 * accuracy:.2f} % of the test images", flush=True)

    weights = {name: array.astype({"f32": "<f4", "f16": "<f2"}[it.dtype])
               for name, array in model.weights().items()}
    model.set_weights({name: array.astype("<f4") for name, array in weights.items()})
    accuracy = accuracy_of(model, test_x, test_y)
    if 100 * accuracy < it.least_accuracy:
        print(f"train_weights.py: {100 * accuracy:.2f} % is below {it.least_accuracy} %; nothing is written",
              file=sys.stderr)
        return 1
    metadata = {"net": net.name, "data": it.data_name, "test_images": str(len(test)), "test_accuracy": f"{accuracy:.4f}",
                "right_of_first_1000": str(round(1000 * accuracy_of(model, test_x[:1000], test_y[:1000]))),
                "test_sha256": hashlib.sha256(test.tobytes()).hexdigest(), "seed": str(it.seed),
                "epochs": str(it.epochs), "pixels": "byte / 255"}
    files.write_safetensors(it.output, weights, metadata)
    print(f"{it.output}: SHA-256 {hashlib.sha256(pathlib.Path(it.output).read_bytes()).hexdigest()}")
    return 0


def last_scores(model):
    """A function that computes the net without the activation of its last dense layer and without softmax."""
    import dataclasses
    dense = max(place for place, layer in enumerate(model.net.layers) if layer.kind == "dense")
    layers = list(model.net.layers[:dense + 1])
    layers[dense] = dataclasses.replace(layers[dense], activation="none")

    def scores(x):
        for layer in layers:
            x = model.run_layer(layer, x)
        return x
    return scores


def accuracy_of(model, images, labels):
    import torch
    with torch.no_grad():
        right = sum((model(part).argmax(1) == classes).sum().item()
                    for part, classes in zip(images.split(1000), labels.split(1000)))
    return right / len(images)


if __name__ == "__main__":
    sys.exit(main())
