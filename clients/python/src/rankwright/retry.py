"""When a call is repeated.

All calls but `train` may be repeated: they read, or carry events whose ids the service remembers for five minutes
(`core.ingest.eventIdWindow`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx

AGAIN = frozenset({502, 503, 504})


@dataclass(frozen=True)
class Retry:
    """How often a call is repeated, and the pauses between, in seconds."""

    attempts: int = 4
    first_pause: float = 0.2
    longest_pause: float = 5.0

    def pause(self, attempt: int, response: httpx.Response | None) -> float | None:
        """How long to wait after this attempt, counted from 1; None where its outcome is final."""
        if attempt >= self.attempts or (response is not None and response.status_code not in AGAIN):
            return None
        pause = self.first_pause * 2.0 ** min(attempt - 1, 60) * random.uniform(0.5, 1.0)  # clients must not come back together
        return min(max(pause, _wanted(response)), self.longest_pause)


NEVER = Retry(attempts=1)


def _wanted(response: httpx.Response | None) -> float:
    """What the service asks for, in seconds."""
    try:
        return float(response.headers.get("retry-after", 0)) if response is not None else 0.0
    except ValueError:
        return 0.0
