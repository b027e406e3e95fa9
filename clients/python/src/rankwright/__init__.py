"""Client of Rankwright: rank items, send events, read what the service says of itself."""

from .answers import Fed, Ranked, Recommended, Scored, Trained
from .client import AsyncClient, Client
from .errors import (
    ApiError,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    Overloaded,
    RankwrightError,
    Unreachable,
)
from .events import Event, Interaction, Item, ItemUpdate, Ranking, UserUpdate
from .retry import Retry

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "Conflict",
    "Event",
    "Fed",
    "Forbidden",
    "Interaction",
    "InvalidRequest",
    "Item",
    "ItemUpdate",
    "NotFound",
    "Overloaded",
    "Ranked",
    "Ranking",
    "RankwrightError",
    "Recommended",
    "Retry",
    "Scored",
    "Trained",
    "Unreachable",
    "UserUpdate",
]
