#!/usr/bin/env python3
"""Puts a head of one logit on a graph that gives last_hidden_state: head.py GRAPH DIM TO.

The weights of weights.json are fitted to clicks of the generated shop by fit.py. The file of a graph is a protobuf message.
Two messages that follow each other are one with the fields of both, so the head is written behind the graph without parsing it.
"""
import json
import pathlib
import struct
import sys

INT64, FLOAT, INT = 7, 1, 2  # types of tensors and attributes


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number, value):
    """A field that holds a number, a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(kind, inputs, output, **attributes):
    ints = [field(5, field(1, name) + field(3, value) + field(20, INT)) for name, value in attributes.items()]
    head = [field(1, name) for name in inputs] + [field(2, output), field(3, output), field(4, kind)]
    return field(1, b"".join(head + ints))


def tensor(name, kind, shape, content):
    dims = b"".join(field(1, dim) for dim in shape)
    return field(5, dims + field(2, kind) + field(8, name) + field(9, content))


def head(dim):
    weights = json.loads(pathlib.Path(__file__).with_name("weights.json").read_text())
    assert len(weights) == dim, f"weights.json has {len(weights)} weights"
    shape = b"".join(field(1, each) for each in (field(2, "batch_size"), field(1, 1)))
    kind = field(1, field(1, FLOAT) + field(2, shape))
    return field(7, b"".join([
        node("Gather", ["last_hidden_state", "head.first"], "head.cls", axis=1),
        node("MatMul", ["head.cls", "head.weights"], "logits"),
        tensor("head.first", INT64, [], struct.pack("<q", 0)),
        tensor("head.weights", FLOAT, [dim, 1], struct.pack(f"<{dim}f", *weights)),
        field(12, field(1, "logits") + field(2, kind)),
    ]))


if __name__ == "__main__":
    graph, dim, to = sys.argv[1:]
    with open(graph, "rb") as source, open(to, "wb") as target:
        target.write(source.read() + head(int(dim)))
