#!/usr/bin/env python3
"""Asks a running service by the clients of others: clients.py ADDRESS MODELS

The configuration has the bi-encoders `exact`, `small` and `words` and the cross-encoder `pairs`: minilm-f32, minilm-int8 twice and minilm-cross
of MODELS.
Answers are compared with what ONNX Runtime and tokenizers of PyPI compute. Exits with an error at the first that differs.
"""
import importlib.util
import json
import pathlib
import sys
import urllib.request

import cohere
import numpy
import openai

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("reference", ROOT / "services/engine/encoder/tests/minilm/reference.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)

address, models = sys.argv[1], sys.argv[2]
base = f"http://{address}"


def cosine(one, other):
    return float(numpy.dot(one, other) / numpy.linalg.norm(one) / numpy.linalg.norm(other))


def embeddings():
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="any", max_retries=0)
    texts = reference.TEXTS
    assert len(texts) >= 50, len(texts)
    for name, file, least, mean in (("exact", "minilm-f32", 0.9999, 0.9999), ("small", "minilm-int8", 0.99, 0.99)):
        run = reference.model(models, file)
        cosines = []
        for text in texts:  # one at a time: int8 graphs round by what stands beside a text
            answer = client.embeddings.create(model=name, input=text)
            found = numpy.array(answer.data[0].embedding)
            assert found.shape == (384,) and abs(numpy.linalg.norm(found) - 1) < 1e-3, (name, text)
            cosines.append(cosine(found, reference.embedding(run, text)))
        print(f"{name}: {len(texts)} texts, cosine {numpy.mean(cosines):.6f} on average, {min(cosines):.6f} at least")
        assert min(cosines) > least and numpy.mean(cosines) > mean, (name, min(zip(cosines, texts)))
    floats = client.embeddings.create(model="exact", input=["one", "two"], encoding_format="float")
    assert [entry.index for entry in floats.data] == [0, 1]
    try:
        client.embeddings.create(model="unknown", input="text")
        raise AssertionError("an unknown model answered")
    except openai.NotFoundError as error:
        assert "unknown" in str(error) and "exact" in str(error), error


def score(query, document):
    body = json.dumps({"input": [{"query": query, "text": document}]}).encode()
    request = urllib.request.Request(f"{base}/inference/cross/pairs", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["scores"][0]


def pairs():
    run = reference.model(models, "minilm-cross")
    differences = [abs(score(*pair) - float(run("logits", *pair)[0])) for pair in reference.PAIRS]
    print(f"pairs: {len(differences)} scores, at most {max(differences):.6f} from those of PyPI")
    assert max(differences) < 0.01, differences


def reranking():
    client = cohere.ClientV2(api_key="any", base_url=base)
    query, documents = reference.TEXTS[0], reference.TEXTS[1:9]
    answer = client.rerank(model="pairs", query=query, documents=documents)
    scores = [result.relevance_score for result in answer.results]
    order = [result.index for result in answer.results]
    assert sorted(order) == list(range(len(documents))) and scores == sorted(scores, reverse=True), answer
    two = client.rerank(model="pairs", query=query, documents=documents, top_n=2)
    assert [result.index for result in two.results] == order[:2], (two, order)
    try:
        client.rerank(model="exact", query=query, documents=documents)
        raise AssertionError("a bi-encoder reranked")
    except cohere.core.ApiError as error:
        assert error.status_code in (400, 404), error


def page():
    """What docs/inference.md shows."""
    code = (ROOT / "docs/inference.md").read_text().split("\n```python\n")[1].split("\n```")[0]
    exec(code.replace("http://localhost:8080", base), {"cohere": cohere, "openai": openai})


embeddings()
pairs()
reranking()
page()
