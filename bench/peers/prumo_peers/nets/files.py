# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images, labels and weights in files: IDX and safetensors, as docs/data.md describes them.

prumo reads the same files with all care before it passes them on. These readers check what they rely on, and no more.
"""

import gzip
import json
import math
import os
import pathlib
import struct

import numpy as np

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "U8": "u1"}


class FileError(ValueError):
    """A file that does not hold what its name or its header promises. The message begins with the file."""


def _content(path):
    content = pathlib.Path(path).read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def read_idx(path):
    """The bytes of images [n, channels, rows, columns] or labels [n] in an IDX file, compressed or not."""
    content = _content(path)
    if len(content) < 8 or content[:3] != b"\0\0\x08" or content[3] not in (1, 3, 4):
        raise FileError(f"{path}: is no IDX file of images or labels; its first four bytes are {content[:4].hex()}")
    extents = struct.unpack_from(f">{content[3]}I", content, 4)
    begin = 4 + 4 * len(extents)
    if len(content) - begin != math.prod(extents):
        raise FileError(f"{path}: promises {math.prod(extents)} bytes and holds {len(content) - begin}")
    numbers = np.frombuffer(content, np.uint8, offset=begin).reshape(extents).copy()  # writable, for PyTorch
    return numbers[:, None] if len(extents) == 3 else numbers


def read_folder(folder, name):
    """Images and labels of a set, `train` or `t10k`, under their usual names."""
    def find(content, extents):
        names = [f"{name}-{content}{mark}{extents}-ubyte{end}" for end in ("", ".gz") for mark in ("-", ".")]
        found = next((it for it in names if (pathlib.Path(folder) / it).is_file()), None)
        if found is None:
            raise FileError(f"{folder}: lacks {names[0]}; make the files by: prumo data generate {folder}")
        return read_idx(pathlib.Path(folder) / found)
    images, labels = find("images", "idx3"), find("labels", "idx1")
    if len(images) != len(labels):
        raise FileError(f"{folder}: the set {name} has {len(images)} images and {len(labels)} labels")
    return images, labels


def read_safetensors(path):
    """The arrays of a file by their names, and its metadata. Arrays of BF16 become f32."""
    content = pathlib.Path(path).read_bytes()
    size = struct.unpack_from("<Q", content)[0] if len(content) >= 8 else len(content)
    if size > len(content) - 8:
        raise FileError(f"{path}: its header is longer than the file; is it a safetensors file?")
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__", {})
    arrays = {}
    for name, it in header.items():
        begin, end = it["data_offsets"]
        data = content[8 + size + begin:8 + size + end]
        if it["dtype"] == "BF16":
            numbers = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        elif it["dtype"] in _TYPES:
            numbers = np.frombuffer(data, _TYPES[it["dtype"]])
        else:
            raise FileError(f"{path}: array '{name}' is of type {it['dtype']}, which is not read as numbers")
        arrays[name] = numbers.reshape(it["shape"])
    return arrays, metadata


def write_safetensors(path, arrays, metadata, exact=False):
    """Writes arrays of f16 as such and all others as f32; if ``exact``, all in their own types. Readers see the old file or
    the whole new one."""
    header, place = {"__metadata__": metadata}, 0
    parts = {name: np.ascontiguousarray(it, it.dtype if exact else "<f2" if it.dtype == np.float16 else "<f4")
             for name, it in ((name, np.asarray(it)) for name, it in arrays.items())}
    names = {np.dtype(known): name for name, known in _TYPES.items()}
    for name, it in parts.items():
        header[name] = {"dtype": names[it.dtype], "shape": list(it.shape), "data_offsets": [place, place + it.nbytes]}
        place += it.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    beside = pathlib.Path(f"{path}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(it.tobytes() for it in parts.values()))
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
