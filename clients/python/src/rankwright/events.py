"""The four kinds of events.

An event gets its id and its time when it is made, not when it is sent. So a repeated send carries the same id, and the
service takes it once.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Union

Value = Union[bool, float, str, Sequence[str], Sequence[float]]
Fields = Mapping[str, Value]
Time = Union[datetime, int]


def new_id() -> str:
    """An id that no other event has."""
    return str(uuid.uuid4())


def now() -> datetime:
    """The time of an event that happens now."""
    return datetime.now(timezone.utc)


def millis(time: Time) -> str:
    """Milliseconds since 1970, as the service reads them. A datetime must have a zone."""
    if isinstance(time, int):
        return str(time)
    if time.tzinfo is None:
        raise ValueError(f"{time!r} has no time zone: pass datetime.now(timezone.utc), for example")
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    passed = time - epoch
    return str((passed.days * 86_400 + passed.seconds) * 1000 + passed.microseconds // 1000)


def named(fields: Fields) -> list[dict[str, Any]]:
    """Fields as the service reads them."""
    return [{"name": name, "value": value} for name, value in fields.items()]


def present(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that say something."""
    # not by ==, which numbers of numpy answer with an array
    return {key: value for key, value in entries.items() if value is not None and not (isinstance(value, list) and not value)}


@dataclass(frozen=True)
class Item:
    """An item of a ranking, with fields that hold for this ranking alone."""

    id: str
    fields: Fields = field(default_factory=dict)
    label: float | None = None

    @staticmethod
    def of(item: Item | str) -> Item:
        """An item by itself, or by its id."""
        return Item(item) if isinstance(item, str) else item

    def to_json(self) -> dict[str, Any]:
        return present({"id": self.id, "fields": named(self.fields), "label": self.label})


@dataclass(frozen=True)
class ItemUpdate:
    """New values of an item's fields."""

    item: str
    fields: Fields
    id: str = field(default_factory=new_id)
    timestamp: Time = field(default_factory=now)
    tenant: str | None = None

    def to_json(self) -> dict[str, Any]:
        return _event("item", self, item=self.item)


@dataclass(frozen=True)
class UserUpdate:
    """New values of a visitor's fields."""

    user: str
    fields: Fields
    id: str = field(default_factory=new_id)
    timestamp: Time = field(default_factory=now)
    tenant: str | None = None

    def to_json(self) -> dict[str, Any]:
        return _event("user", self, user=self.user)


@dataclass(frozen=True)
class Ranking:
    """What a visitor was shown, in order. Its interactions name its id."""

    items: Sequence[Item | str]
    user: str | None = None
    session: str | None = None
    fields: Fields = field(default_factory=dict)
    id: str = field(default_factory=new_id)
    timestamp: Time = field(default_factory=now)
    tenant: str | None = None

    def to_json(self) -> dict[str, Any]:
        items = [Item.of(item).to_json() for item in self.items]
        return _event("ranking", self, items=items, user=self.user, session=self.session)

    def interaction(self, type: str, item: str, fields: Fields | None = None) -> Interaction:
        """What the visitor does now with an item of this ranking."""
        return Interaction(
            type, item, self.id, self.user, self.session, dict(fields or {}), tenant=self.tenant
        )


@dataclass(frozen=True)
class Interaction:
    """A click, a purchase, a like. `ranking` is the id of the ranking that it came from."""

    type: str
    item: str
    ranking: str | None = None
    user: str | None = None
    session: str | None = None
    fields: Fields = field(default_factory=dict)
    id: str = field(default_factory=new_id)
    timestamp: Time = field(default_factory=now)
    tenant: str | None = None

    def to_json(self) -> dict[str, Any]:
        visitor = {"user": self.user, "session": self.session}
        return _event("interaction", self, type=self.type, item=self.item, ranking=self.ranking, **visitor)


Event = Union[ItemUpdate, UserUpdate, Ranking, Interaction]


def _event(kind: str, event: Event, **more: Any) -> dict[str, Any]:
    common = {"event": kind, "id": event.id, "timestamp": millis(event.timestamp), "tenant": event.tenant}
    return present({**common, **more, "fields": named(event.fields)})
