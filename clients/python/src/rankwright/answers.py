"""What calls answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from .events import Fields, Interaction, Item, Ranking, Time, now

if TYPE_CHECKING:
    import pandas

Columns = Union[float, None, Sequence[Union[float, None]]]


@dataclass(frozen=True)
class Fed:
    """What became of events."""

    accepted: int
    updated: int
    took_millis: int


@dataclass(frozen=True)
class Scored:
    """An item with its score. Values of features and what each brings are there if the call asked for them."""

    item: str
    score: float
    features: Mapping[str, Columns] = field(default_factory=dict)
    contributions: Mapping[str, float] = field(default_factory=dict)
    bias: float | None = None


@dataclass(frozen=True)
class Ranked:
    """Items, best first. `request` is what was asked for, `fallback` says why the order is the incoming one."""

    request: Ranking
    items: Sequence[Scored]
    fallback: str | None = None
    unexplained: str | None = None
    took_millis: int = 0

    @property
    def id(self) -> str:
        """The id of the ranking."""
        return self.request.id

    @property
    def order(self) -> list[str]:
        """The ids of the items, best first."""
        return [item.item for item in self.items]

    def shown(self, count: int | None = None, timestamp: Time | None = None) -> Ranking:
        """The event that says that the first `count` items were shown, in this order; all, without a count."""
        asked = self.request
        given = {item.id: item for item in map(Item.of, asked.items)}
        items = [given[item] for item in self.order[:count]]
        time = now() if timestamp is None else timestamp
        return Ranking(items, asked.user, asked.session, asked.fields, asked.id, time, asked.tenant)

    def interaction(self, type: str, item: str, fields: Fields | None = None) -> Interaction:
        """What the visitor does now with an item of this ranking."""
        return self.request.interaction(type, item, fields)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each item, best first, with columns `item`, `score`, `feature.<name>`, `contribution.<name>`, `bias`.

        A feature of several columns becomes `feature.<name>.0`, `feature.<name>.1` and so on.
        """
        import pandas  # only notebooks need it

        return pandas.DataFrame([_row(item) for item in self.items])


@dataclass(frozen=True)
class Recommended:
    """Items that were recommended, best first. `fallback` says why another model answered, or none."""

    items: Sequence[Scored]
    fallback: str | None = None
    took_millis: int = 0

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each item, best first."""
        import pandas

        return pandas.DataFrame([_row(item) for item in self.items], columns=["item", "score"])


@dataclass(frozen=True)
class Trained:
    """A new version of a model: its features by gain, the rounds of boosting, and what is wrong with it."""

    features: Mapping[str, Columns]
    iterations: Sequence[Mapping[str, Any]]
    size_bytes: int
    warnings: Sequence[str] = ()


def _row(item: Scored) -> dict[str, Any]:
    row: dict[str, Any] = {"item": item.item, "score": item.score}
    for name, value in item.features.items():
        if isinstance(value, Sequence):
            row.update({f"feature.{name}.{index}": one for index, one in enumerate(value)})
        else:
            row[f"feature.{name}"] = value
    row.update({f"contribution.{name}": value for name, value in item.contributions.items()})
    return row if item.bias is None else {**row, "bias": item.bias}
