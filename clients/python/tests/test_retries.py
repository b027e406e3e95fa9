"""Calls that fail on their way, over a transport that fails as the tests say."""

import asyncio
import json

import httpx
import pytest

from rankwright import ApiError, AsyncClient, Client, ItemUpdate, Overloaded, Ranking, Retry, Unreachable

SOON = Retry(attempts=3, first_pause=0.0, longest_pause=0.0)
FED = {"accepted": 1, "status": "ok", "tookMillis": 1, "updated": 1}


class Failing(httpx.MockTransport):
    """Fails in these ways, one after the other: an exception, or a status. Then it takes events."""

    def __init__(self, *failures):
        self.failures, self.bodies = list(failures), []
        super().__init__(self.answer)

    def answer(self, request):
        self.bodies.append(json.loads(request.content or "null"))
        failure = self.failures.pop(0) if self.failures else 200
        if isinstance(failure, Exception):
            raise failure
        if failure == 200:
            return httpx.Response(200, json=FED)
        error = {"code": "overloaded", "message": "busy", "path": None}
        return httpx.Response(failure, json={"error": error}, headers={"retry-after": "1"})


def client(transport):
    return Client("http://service", retry=SOON, transport=transport)


def test_a_repeated_event_is_the_same_event():
    transport = Failing(httpx.ConnectError("refused"), 503)
    assert client(transport).feedback(ItemUpdate("p1", {"price": 1.0})).accepted == 1
    first, second, third = transport.bodies
    assert first == second == third and first[0]["id"] and first[0]["timestamp"]


def test_attempts_have_an_end_and_the_last_outcome_is_told():
    with pytest.raises(Overloaded, match="503 overloaded: busy"):
        client(Failing(503, 503, 503, 200)).feedback(ItemUpdate("p1", {}))
    with pytest.raises(Unreachable, match="refused"):
        client(Failing(*[httpx.ConnectError("refused")] * 3)).status()


def test_what_the_service_refuses_is_not_sent_again():
    transport = Failing(400, 200)
    with pytest.raises(ApiError):
        client(transport).rank("shop", Ranking(["a"]))
    assert len(transport.bodies) == 1


def test_a_training_is_never_repeated():
    transport = Failing(httpx.ReadTimeout("slow"), 200)
    with pytest.raises(Unreachable):
        client(transport).train("shop")
    assert len(transport.bodies) == 1


def test_an_answer_that_a_proxy_made_is_an_error_too():
    transport = httpx.MockTransport(lambda request: httpx.Response(404, text="<html>no such host"))
    with pytest.raises(ApiError) as told:
        Client("http://service", transport=transport).status()
    assert (told.value.status, told.value.code) == (404, "unknown")


def test_pauses_grow_and_are_as_long_as_the_service_asks():
    retry, busy = Retry(attempts=4, first_pause=1.0, longest_pause=8.0), httpx.Response(503, headers={"retry-after": "3"})
    pauses = [retry.pause(attempt, None) for attempt in (1, 2, 3, 4)]
    assert 0.5 <= pauses[0] <= 1 <= pauses[1] <= 2 <= pauses[2] <= 4 and pauses[3] is None
    assert retry.pause(1, busy) == 3.0
    assert retry.pause(1, httpx.Response(503, headers={"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"})) <= 1
    assert retry.pause(1, httpx.Response(200)) is None


def test_the_client_for_asyncio_repeats_in_the_same_way():
    transport = Failing(503, httpx.ReadError("reset"))

    async def feed():
        async with AsyncClient("http://service", retry=SOON, transport=transport) as service:
            return await service.feedback(ItemUpdate("p1", {"price": 1.0}))

    assert asyncio.run(feed()).accepted == 1
    assert transport.bodies[0] == transport.bodies[1] == transport.bodies[2]


def test_only_what_waits_for_a_version_to_serve_has_no_time_limit():
    seen = {}

    def answer(request):
        seen[request.url.path] = request.extensions["timeout"]
        return httpx.Response(200, json={"features": [], "iterations": 1, "sizeBytes": 1, "models": [], "version": "1"})

    service = Client("http://service", timeout=3, transport=httpx.MockTransport(answer))
    service.ready()
    service.models()
    service.train("shop")
    service.promote("shop", "1")
    service.roll_back("shop")
    limits = {path: (timeout["read"], timeout["connect"]) for path, timeout in seen.items()}
    waits = ("/train/shop", "/models/shop/promote", "/models/shop/rollback")
    assert limits == {"/ready": (3, 3), "/models": (3, 3), **dict.fromkeys(waits, (None, 3))}


def test_what_a_proxy_answers_is_an_error_of_ours():
    page = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>log in"))
    with pytest.raises(ApiError, match="not an answer of the service: <html>log in"):
        Client("http://service", transport=page).status()
    garbled = httpx.MockTransport(lambda request: httpx.Response(200, headers={"content-encoding": "gzip"}, content=b"not packed"))
    with pytest.raises(Unreachable):
        Client("http://service", retry=SOON, transport=garbled).status()


def test_pauses_grow_up_to_the_longest_however_many_attempts_there_are():
    assert Retry(attempts=5000).pause(4000, None) == 5.0
    assert Retry().pause(1, httpx.Response(503, headers={"retry-after": "60"})) == 5.0


def test_a_label_of_numpy_is_a_number():
    numpy = pytest.importorskip("numpy")
    from rankwright import Item

    assert Item("a", label=numpy.float64(1)).to_json()["label"] == 1.0
