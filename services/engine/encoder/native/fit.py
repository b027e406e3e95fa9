#!/usr/bin/env python3
"""Fits the head that head.py puts on MiniLM: fit.py FOLDER EVENTS

FOLDER is one that fetch.sh filled, EVENTS the events of `rankwright generate --out SHOP` (its defaults). Writes weights.json
beside this file. A pair is a query with a title: of an item that was clicked for it, or of any item. The same events give the
same weights, up to rounding. Needs onnxruntime, tokenizers and numpy of PyPI.
"""
import gzip
import json
import pathlib
import random
import sys

import numpy
import onnxruntime
import tokenizers

PAIRS = 4000
HELD_OUT = 800
RIDGE = 3.0


def pairs(events):
    titles, queries, clicked = {}, {}, []
    with gzip.open(events, "rt") as lines:
        for event in map(json.loads, lines):
            fields = {field["name"]: field["value"] for field in event.get("fields", [])}
            if event["event"] == "item" and "title" in fields:
                titles[event["item"]] = fields["title"]
            elif event["event"] == "ranking" and "query" in fields:
                queries[event["id"]] = fields["query"]
            elif event["event"] == "interaction" and event.get("ranking") in queries:
                clicked.append((queries[event["ranking"]], titles[event["item"]]))
    source = random.Random(7)
    good = source.sample(clicked, PAIRS // 2)
    return [(pair, 1.0) for pair in good] + [((query, source.choice(sorted(titles.values()))), 0.0) for query, _ in good]


def states(folder, texts):
    base = pathlib.Path(folder) / "models/test/minilm-int8"
    tokenizer = tokenizers.Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(str(base / "model.onnx"), providers=["CPUExecutionProvider"])
    for pair in texts:
        encoding = tokenizer.encode(*pair)
        parts = encoding.ids, encoding.attention_mask, encoding.type_ids
        inputs = [numpy.array([part], dtype=numpy.int64) for part in parts]
        names = ("input_ids", "attention_mask", "token_type_ids")
        yield session.run(["last_hidden_state"], dict(zip(names, inputs)))[0][0][0]


def logistic(states, labels):
    """Newton's method with a ridge; the head has no constant."""
    weights = numpy.zeros(states.shape[1])
    for _ in range(20):
        chance = 1 / (1 + numpy.exp(-states @ weights))
        slope = states.T @ (labels - chance) - RIDGE * weights
        curve = (states * (chance * (1 - chance))[:, None]).T @ states + RIDGE * numpy.eye(states.shape[1])
        weights += numpy.linalg.solve(curve, slope)
    return weights


def right(scores, labels):
    """How often a clicked pair scores more than another one (area under the curve)."""
    return (scores[labels == 1][:, None] > scores[labels == 0][None, :]).mean()


if __name__ == "__main__":
    labelled = pairs(sys.argv[2])
    random.Random(8).shuffle(labelled)
    found = numpy.array(list(states(sys.argv[1], [pair for pair, _ in labelled])))
    labels = numpy.array([label for _, label in labelled])
    weights = logistic(found[HELD_OUT:], labels[HELD_OUT:]).round(4)
    print(f"{right(found[:HELD_OUT] @ weights, labels[:HELD_OUT]):.3f} of {HELD_OUT} held-out pairs are in the right order")
    pathlib.Path(__file__).with_name("weights.json").write_text(json.dumps(weights.tolist()) + "\n")
