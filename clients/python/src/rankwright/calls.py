"""What each call sends, and how its answer is read; both clients share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import httpx

from .answers import Fed, Ranked, Recommended, Scored, Trained
from .events import Event, Ranking, present

T = TypeVar("T")
Explain = Literal["features", "contributions"]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and what its answer means. `plain` statuses are answers as well.

    `repeats` says whether it may be sent again, `limited` whether its answer has to come in time.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    json: Any = None
    params: Mapping[str, str] | None = None
    repeats: bool = True
    limited: bool = True
    plain: frozenset[int] = frozenset()


def feedback(events: Event | Iterable[Event]) -> Call[Fed]:
    batch = list(events) if isinstance(events, Iterable) else [events]

    def read(response: httpx.Response) -> Fed:
        answer = response.json()
        return Fed(answer["accepted"], answer["updated"], answer["tookMillis"])

    return Call("POST", "/feedback", read, [event.to_json() for event in batch])


def rank(model: str, ranking: Ranking, exclude: Sequence[str], explain: Explain | None) -> Call[Ranked]:
    body = present({**ranking.to_json(), "exclude": list(exclude)})
    params = {"explain": {"features": "true"}.get(explain, explain)} if explain else None

    def read(response: httpx.Response) -> Ranked:
        answer = response.json()
        items = [_scored(item) for item in answer["items"]]
        return Ranked(ranking, items, answer.get("fallback"), answer.get("unexplained"), answer["took"])

    return Call("POST", _path("rank", model), read, body, params)


def recommend(
    model: str, count: int, items: Sequence[str], exclude: Sequence[str], user: str | None, tenant: str | None
) -> Call[Recommended]:
    body = {"count": count, "items": list(items), "exclude": list(exclude), "user": user, "tenant": tenant}

    def read(response: httpx.Response) -> Recommended:
        answer = response.json()
        return Recommended([_scored(item) for item in answer["items"]], answer.get("fallback"), answer["took"])

    return Call("POST", _path("recommend", model), read, present(body))


def train(model: str) -> Call[Trained]:
    def read(response: httpx.Response) -> Trained:
        answer = response.json()
        features = {feature["name"]: feature["weight"] for feature in answer["features"]}
        return Trained(features, answer["iterations"], answer["sizeBytes"], tuple(answer.get("warnings", ())))

    return Call("POST", _path("train", model), read, repeats=False, limited=False)


def models() -> Call[list[dict[str, Any]]]:
    def read(response: httpx.Response) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = response.json()["models"]
        return listed

    return Call("GET", "/models", read)


def model_features(model: str) -> Call[dict[str, Any]]:
    return Call("GET", _path("models", model) + "/features", _json)


# the service warms a version up before it answers
def promote(model: str, version: str) -> Call[str]:
    return Call("POST", _path("models", model) + "/promote", _version, {"version": version}, limited=False)


def roll_back(model: str) -> Call[str]:
    # a second one would go back one version more
    return Call("POST", _path("models", model) + "/rollback", _version, repeats=False, limited=False)


def encode(model: str, texts: Sequence[str]) -> Call[list[list[float]]]:
    def read(response: httpx.Response) -> list[list[float]]:
        embeddings: list[list[float]] = response.json()["embeddings"]
        return embeddings

    return Call("POST", _path("inference/encoder", model), read, {"texts": list(texts)})


def score(model: str, pairs: Sequence[tuple[str, str]]) -> Call[list[float]]:
    def read(response: httpx.Response) -> list[float]:
        scores: list[float] = response.json()["scores"]
        return scores

    body = {"input": [{"query": query, "text": text} for query, text in pairs]}
    return Call("POST", _path("inference/cross", model), read, body)


def ready() -> Call[bool]:
    return Call("GET", "/ready", lambda response: response.status_code == 200, repeats=False, plain=frozenset({503}))


def status() -> Call[dict[str, Any]]:
    return Call("GET", "/status", _json)


def openapi() -> Call[dict[str, Any]]:
    return Call("GET", "/openapi.json", _json)


def metrics() -> Call[str]:
    return Call("GET", "/metrics", lambda response: response.text)


def _json(response: httpx.Response) -> dict[str, Any]:
    answer: dict[str, Any] = response.json()
    return answer


def _version(response: httpx.Response) -> str:
    version: str = response.json()["version"]
    return version


def _path(place: str, name: str) -> str:
    return f"/{place}/{quote(name, safe='')}"


def _scored(item: Mapping[str, Any]) -> Scored:
    values = {feature["name"]: feature["value"] for feature in item.get("features", ())}
    brought = {feature["name"]: feature["value"] for feature in item.get("contributions", ())}
    return Scored(item["item"], item["score"], values, brought, item.get("bias"))
