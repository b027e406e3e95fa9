"""The two clients: one that waits, one for asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import httpx

from . import calls, errors
from .answers import Fed, Ranked, Recommended, Trained
from .calls import Call, Explain
from .events import Event, Ranking
from .retry import NEVER, Retry

T = TypeVar("T")


class _Base:
    """What both clients know: where the service is, and how to repeat a call."""

    def __init__(self, url: str, token: str | None, retry: Retry | None, timeout: float, transport: Any) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._retry = retry or Retry()
        self._timeout = timeout
        self._settings: dict[str, Any] = {
            "base_url": url.rstrip("/"),
            "headers": headers,
            "timeout": timeout,
            "transport": transport,
        }

    def _request(self, call: Call[T]) -> dict[str, Any]:
        settings: dict[str, Any] = {"method": call.method, "url": call.path, "json": call.json, "params": call.params}
        return settings if call.limited else {**settings, "timeout": httpx.Timeout(None, connect=self._timeout)}

    def _repeat(self, call: Call[T]) -> Retry:
        return self._retry if call.repeats else NEVER


def _read(call: Call[T], response: httpx.Response) -> T:
    if not (response.is_success or response.status_code in call.plain):
        raise errors.of(response)
    try:
        return call.read(response)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # such as the page of a proxy
        told = f"not an answer of the service: {response.text[:200]}"
        raise errors.ApiError(response.status_code, "unknown", told, None) from error


def _unreachable(url: httpx.URL, cause: httpx.RequestError) -> errors.Unreachable:
    return errors.Unreachable(f"{url}: {cause or type(cause).__name__}")


class Client(_Base):
    """A client that waits for answers. It keeps connections: use one for many calls, and close it."""

    def __init__(
        self,
        url: str = "http://localhost:8080",
        *,
        token: str | None = None,
        retry: Retry | None = None,
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, token, retry, timeout, transport)
        self._http = httpx.Client(**self._settings)

    def feedback(self, events: Event | Iterable[Event]) -> Fed:
        """Sends events; returns when their effects are committed. All take effect, or none."""
        return self._run(calls.feedback(events))

    def rank(
        self, model: str, ranking: Ranking, *, exclude: Sequence[str] = (), explain: Explain | None = None
    ) -> Ranked:
        """Orders the items of a ranking, without those that `exclude` names."""
        return self._run(calls.rank(model, ranking, exclude, explain))

    def recommend(
        self,
        model: str,
        count: int,
        *,
        items: Sequence[str] = (),
        exclude: Sequence[str] = (),
        user: str | None = None,
        tenant: str | None = None,
    ) -> Recommended:
        """Names items that go with `items`, or that many visitors want."""
        return self._run(calls.recommend(model, count, items, exclude, user, tenant))

    def train(self, model: str) -> Trained:
        """Trains a model, and returns when the service uses the new version. Never repeated, and without a time limit."""
        return self._run(calls.train(model))

    def models(self) -> list[dict[str, Any]]:
        """All versions of all models, with metrics, features by gain, data and settings."""
        return self._run(calls.models())

    def model_features(self, model: str) -> dict[str, Any]:
        """What the features of a ranking model hold, in training and in the newest requests."""
        return self._run(calls.model_features(model))

    def promote(self, model: str, version: str) -> str:
        """Makes a stored version the current one; its name. Without a time limit: the service warms it up first."""
        return self._run(calls.promote(model, version))

    def roll_back(self, model: str) -> str:
        """Makes the version before the current one the current one; its name. Never repeated, and without a time limit."""
        return self._run(calls.roll_back(model))

    def encode(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, by a bi-encoder."""
        return self._run(calls.encode(model, texts))

    def score(self, model: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How well each text answers its query, by a cross-encoder: pairs of query and text."""
        return self._run(calls.score(model, pairs))

    def ready(self) -> bool:
        """Whether the service takes requests."""
        return self._run(calls.ready())

    def status(self) -> dict[str, Any]:
        """Models, stores and counters."""
        return self._run(calls.status())

    def metrics(self) -> str:
        """Metrics in the text format of Prometheus."""
        return self._run(calls.metrics())

    def openapi(self) -> dict[str, Any]:
        """The description of the interface."""
        return self._run(calls.openapi())

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _run(self, call: Call[T]) -> T:
        request, retry, attempt = self._request(call), self._repeat(call), 1
        while True:
            response, cause = None, None
            try:
                response = self._http.request(**request)
            except httpx.RequestError as error:
                cause = error
            pause = retry.pause(attempt, response)
            if pause is None:
                if response is None:
                    raise _unreachable(self._http.base_url, cause) from cause  # type: ignore[arg-type]
                return _read(call, response)
            time.sleep(pause)
            attempt += 1


class AsyncClient(_Base):
    """The same for asyncio."""

    def __init__(
        self,
        url: str = "http://localhost:8080",
        *,
        token: str | None = None,
        retry: Retry | None = None,
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, token, retry, timeout, transport)
        self._http = httpx.AsyncClient(**self._settings)

    async def feedback(self, events: Event | Iterable[Event]) -> Fed:
        """Sends events; returns when their effects are committed. All take effect, or none."""
        return await self._run(calls.feedback(events))

    async def rank(
        self, model: str, ranking: Ranking, *, exclude: Sequence[str] = (), explain: Explain | None = None
    ) -> Ranked:
        """Orders the items of a ranking, without those that `exclude` names."""
        return await self._run(calls.rank(model, ranking, exclude, explain))

    async def recommend(
        self,
        model: str,
        count: int,
        *,
        items: Sequence[str] = (),
        exclude: Sequence[str] = (),
        user: str | None = None,
        tenant: str | None = None,
    ) -> Recommended:
        """Names items that go with `items`, or that many visitors want."""
        return await self._run(calls.recommend(model, count, items, exclude, user, tenant))

    async def train(self, model: str) -> Trained:
        """Trains a model, and returns when the service uses the new version. Never repeated, and without a time limit."""
        return await self._run(calls.train(model))

    async def models(self) -> list[dict[str, Any]]:
        """All versions of all models, with metrics, features by gain, data and settings."""
        return await self._run(calls.models())

    async def model_features(self, model: str) -> dict[str, Any]:
        """What the features of a ranking model hold, in training and in the newest requests."""
        return await self._run(calls.model_features(model))

    async def promote(self, model: str, version: str) -> str:
        """Makes a stored version the current one; its name. Without a time limit: the service warms it up first."""
        return await self._run(calls.promote(model, version))

    async def roll_back(self, model: str) -> str:
        """Makes the version before the current one the current one; its name. Never repeated, and without a time limit."""
        return await self._run(calls.roll_back(model))

    async def encode(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, by a bi-encoder."""
        return await self._run(calls.encode(model, texts))

    async def score(self, model: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How well each text answers its query, by a cross-encoder: pairs of query and text."""
        return await self._run(calls.score(model, pairs))

    async def ready(self) -> bool:
        """Whether the service takes requests."""
        return await self._run(calls.ready())

    async def status(self) -> dict[str, Any]:
        """Models, stores and counters."""
        return await self._run(calls.status())

    async def metrics(self) -> str:
        """Metrics in the text format of Prometheus."""
        return await self._run(calls.metrics())

    async def openapi(self) -> dict[str, Any]:
        """The description of the interface."""
        return await self._run(calls.openapi())

    async def close(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def _run(self, call: Call[T]) -> T:
        request, retry, attempt = self._request(call), self._repeat(call), 1
        while True:
            response, cause = None, None
            try:
                response = await self._http.request(**request)
            except httpx.RequestError as error:
                cause = error
            pause = retry.pause(attempt, response)
            if pause is None:
                if response is None:
                    raise _unreachable(self._http.base_url, cause) from cause  # type: ignore[arg-type]
                return _read(call, response)
            await asyncio.sleep(pause)
            attempt += 1
