"""The client against a running service, whose address RANKWRIGHT_URL has and whose token is `secret`.

Its configuration has a ranker `shop` on the features `price` and `ctr` (two columns), and `plain`, which ranks nothing.
"""

import asyncio
import dataclasses
import datetime
import os
import pathlib
import re
import time as time_of_day

import pytest

from rankwright import AsyncClient, Client, Conflict, Forbidden, InvalidRequest, ItemUpdate, NotFound, Ranking, UserUpdate

URL = os.environ.get("RANKWRIGHT_URL")
pytestmark = pytest.mark.skipif(not URL, reason="RANKWRIGHT_URL names no service")
START = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=3)
ITEMS = [f"p{number}" for number in range(5)]


@pytest.fixture(scope="module", autouse=True)
def learned():
    """Visitors have clicked the cheapest of five items, eighty times, the last time some hours ago."""
    with Client(URL) as client:
        client.feedback([ItemUpdate(item, {"price": float(place)}, timestamp=START) for place, item in enumerate(ITEMS)])
        for number in range(80):
            time = START + datetime.timedelta(minutes=40 * (number + 1))
            shown = Ranking(ITEMS[number % 5 :] + ITEMS[: number % 5], timestamp=time)
            click = shown.interaction("click", "p0")
            client.feedback([shown, dataclasses.replace(click, timestamp=time + datetime.timedelta(seconds=5))])
        client.feedback(ItemUpdate("p9", {}))  # time goes on, and closes what is open
        deadline = time_of_day.monotonic() + 60
        while any(client.status()["ingest"][counter] for counter in ("openRankings", "outbox")):
            assert time_of_day.monotonic() < deadline, client.status()["ingest"]
            time_of_day.sleep(0.05)


@pytest.fixture
def client():
    with Client(URL, token="secret") as client:
        yield client


def test_events_come_in_and_a_repeated_one_changes_nothing(client):
    event = ItemUpdate("twice", {"price": 3.0, "tags": ["a", "b"], "new": True})
    assert client.feedback(event).updated > 0
    again = client.feedback(event)
    assert (again.accepted, again.updated) == (1, 0)
    assert client.feedback([]).accepted == 0
    assert client.feedback([UserUpdate("u1", {"age": 30}), ItemUpdate("p9", {})]).accepted == 2


def test_a_ranking_is_answered_shown_and_clicked(client):
    asked = Ranking(ITEMS, user="u1", session="s1", fields={"query": "shoes"})
    ranked = client.rank("plain", asked, exclude=["p1"])
    assert ranked.order == ["p0", "p2", "p3", "p4"] and ranked.id == asked.id
    shown, click = ranked.shown(2), ranked.interaction("click", "p2", {"page": 1})
    assert [item.id for item in shown.items] == ["p0", "p2"] and (shown.id, shown.user) == (asked.id, "u1")
    assert (click.ranking, click.user, click.session) == (asked.id, "u1", "s1")
    assert client.feedback([shown, click]).accepted == 2


def test_a_trained_model_ranks_and_its_values_and_contributions_become_a_table(client):
    trained = client.train("shop")
    assert set(trained.features) == {"price", "ctr"} and trained.size_bytes > 0 and trained.iterations
    asked = Ranking(ITEMS)
    assert client.rank("shop", asked).order[0] == "p0"
    table = client.rank("shop", asked, explain="features").to_pandas()
    assert list(table["item"]) == [item.item for item in client.rank("shop", asked).items]
    assert {"score", "feature.price", "feature.ctr.0", "feature.ctr.1"} <= set(table.columns)
    assert sorted(table["feature.price"]) == [0, 1, 2, 3, 4]
    explained = client.rank("shop", asked, explain="contributions")
    assert explained.unexplained is None and explained.fallback is None
    table = explained.to_pandas()
    total = table["contribution.price"] + table["contribution.ctr"] + table["bias"]
    assert (abs(total - table["score"]) < 1e-6).all()


def test_errors_say_what_is_wrong_and_where(client):
    with pytest.raises(InvalidRequest) as told:
        client.feedback(ItemUpdate("p1", {}, timestamp=datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc)))
    assert (told.value.status, told.value.path) == (400, "[0].timestamp")
    with pytest.raises(NotFound, match="unknown_model"):
        client.rank("no/such model?", Ranking(["a"]))
    with pytest.raises(Conflict):
        client.train("plain")
    with Client(URL) as stranger, pytest.raises(Forbidden):
        stranger.train("plain")
    with pytest.raises(ValueError, match="no time zone"):
        client.feedback(ItemUpdate("p1", {}, timestamp=datetime.datetime(2020, 1, 1)))


def test_the_service_tells_how_it_is(client):
    assert client.ready() and client.status()["phase"] == "ready"
    assert "service_rank_requests_total" in client.metrics()


def test_versions_are_listed_and_chosen(client):
    client.train("shop")
    client.train("shop")

    def shop():
        return next(model for model in client.models() if model["name"] == "shop")

    *_, previous, newest = [version["version"] for version in shop()["versions"]]
    assert client.promote("shop", newest) == newest == shop()["current"]
    told = client.model_features("shop")
    assert told["version"] == newest and told["features"]
    assert client.roll_back("shop") == previous == shop()["serving"]
    assert client.promote("shop", newest) == newest


def test_the_clients_have_a_method_for_every_call_of_their_own(client):
    paths = client.openapi()["paths"].values()
    operations = [operation for path in paths for operation in path.values()]
    named = [one["operationId"] for one in operations if set(one["tags"]) & {"ranking", "events", "models"}]
    wanted = {re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name) for name in named}
    assert {"rank", "feedback", "recommend", "train"} <= wanted
    for kind in (Client, AsyncClient):
        assert not [name for name in wanted if not hasattr(kind, name)], kind


@pytest.mark.parametrize("page", ["clients/python/README.md", "docs/python.md"])
def test_what_the_pages_show_runs(page):
    text = (pathlib.Path(__file__).parents[3] / page).read_text()
    blocks, names = re.findall(r"\n```python\n(.*?)\n```", text, re.DOTALL), {}
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block.replace("http://localhost:8080", URL), page, "exec"), names)
    names["client"].close()


def test_the_client_for_asyncio_does_the_same():
    async def ask():
        async with AsyncClient(URL, token="secret") as client:
            answers = await asyncio.gather(*[client.rank("plain", Ranking(ITEMS)) for _ in range(20)])
            fed = await client.feedback(answers[0].shown())
            return answers, fed, await client.ready()

    answers, fed, ready = asyncio.run(ask())
    assert all(answer.order == ITEMS for answer in answers) and fed.accepted == 1 and ready
