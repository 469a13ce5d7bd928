#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the nets that prumo prints against docs/net.schema.json, and nets that prumo refuses, too.

usage: net_schema.py PRUMO

Exit code 0: prumo and the schema agree; 1: they do not; 77: there is no jsonschema.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import jsonschema
except ImportError:
    sys.exit(77)

SCHEMA = Path(__file__).resolve().parents[3] / "docs/net.schema.json"

# Changes of lenet5 that make no net: where, and what is written there; None removes it.
WRONG = [
    (["schema"], "prumo.net/2"),
    (["name"], None),
    (["input", "height"], 0),
    (["layers", 0, "type"], "conv"),
    (["layers", 0, "filter"], None),
    (["layers", 0, "filter"], [5, 5, 5]),
    (["layers", 0, "activation"], "gelu"),
    (["layers", 1, "window"], -2),
    (["layers", 4, "features"], 1.5),
    (["layers", 4, "stride"], 1),
]


def info(prumo, *words):
    return subprocess.run([prumo, "data", "info", *words], capture_output=True, text=True, check=False)


def changed(net, place, value):
    net = json.loads(json.dumps(net))
    holder = net
    for step in place[:-1]:
        holder = holder[step]
    if value is None:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return net


def main(prumo):
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for name in ("ece408-2019", "ece408-2020", "mnist-2f", "lenet5"):
        net = json.loads(info(prumo, name, "--json").stdout)
        validator.validate(net)
    disagreements = 0
    for place, value in WRONG:
        wrong = changed(net, place, value)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(wrong, file)
            file.flush()
            code = info(prumo, file.name).returncode
        if code != 2 or validator.is_valid(wrong):
            print(f"{place} = {value}: prumo ends with {code}, the schema takes it: {validator.is_valid(wrong)}")
            disagreements += 1
    return 1 if disagreements else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
