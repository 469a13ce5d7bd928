# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds messages against docs/protocol.schema.json, with as much of JSON Schema as that file uses."""

import json

TYPES = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "boolean": bool,
         "null": type(None)}


def _is(value, kind):
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])


class MessageSchema:
    def __init__(self, path):
        with open(path, encoding="utf-8") as stream:
            self._messages = json.load(stream)["$defs"]

    def message(self, name):
        return self._messages[name]

    def requests(self):
        """The names of the requests that have fields, in the order of the protocol."""
        return [name.removesuffix(".request") for name in self._messages if name.endswith(".request")]

    def faults(self, name, value):
        """What is wrong with a message, a line each. An answer without fields, that of `release`, has no schema."""
        return list(_faults(self._messages.get(name, {}), value, name))


def _faults(schema, value, where):
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{where} is {json.dumps(value)[:80]}, not {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, none of {schema['enum']}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if (value < schema.get("minimum", value) or value > schema.get("maximum", value)
                or ("exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"])):
            yield f"{where} is {value}, which is out of range"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield f"{where} is empty"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where} is empty"
        for number, item in enumerate(value):
            yield from _faults(schema.get("items", {}), item, f"{where}[{number}]")
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{where} lacks {name}"
        named = schema.get("properties", {})
        for name, item in value.items():
            yield from _faults(named.get(name, schema.get("additionalProperties", {})), item, f"{where}.{name}")


def wrong_values(message):
    """For each field of a message values that it must not have: of another type, out of range, none of the texts."""
    for name, schema in message["properties"].items():
        kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        if "boolean" not in kinds:
            yield name, True
        yield name, {"a": "text"} if "object" in kinds else "no such text" if "enum" in schema or "string" not in kinds else 7
        if "minimum" in schema:
            yield name, schema["minimum"] - 1
        if "exclusiveMinimum" in schema:
            yield name, schema["exclusiveMinimum"]
        if "maximum" in schema:
            yield name, schema["maximum"] + 1
        if "integer" in kinds:
            yield name, 1.5
