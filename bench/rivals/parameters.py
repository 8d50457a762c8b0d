"""Reads and writes safetensors files with NumPy alone: see docs/file_formats.md."""

import json
import struct

import numpy

DTYPES = {"F32": "<f4", "F64": "<f8", "U8": "|u1", "I8": "|i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}


def read_safetensors(path):
    """The tensors by name."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            elements = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
            tensors[name] = elements.reshape(entry["shape"]).copy()
    return tensors


def write_safetensors(path, tensors, metadata=None):
    """Arrays by name; the widest types come first, so that every tensor is aligned. `metadata` maps texts to texts."""
    names = {numpy.dtype(form): name for name, form in DTYPES.items()}
    ordered = sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize)
    header, offset = {"__metadata__": metadata} if metadata else {}, 0
    for name, array in ordered:
        end = offset + array.nbytes
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, array in ordered:
            file.write(array.tobytes())
