"""What can go wrong."""

from __future__ import annotations

import httpx


class RankwrightError(Exception):
    """Any failure of a call."""


class Unreachable(RankwrightError):
    """The service did not answer, however often it was asked."""


class ApiError(RankwrightError):
    """The service answered with an error. `path` is the place of the fault in the request, if there is one."""

    def __init__(self, status: int, code: str, message: str, path: str | None) -> None:
        place = f" at {path}" if path else ""
        super().__init__(f"{status} {code}{place}: {message}")
        self.status, self.code, self.message, self.path = status, code, message, path


class InvalidRequest(ApiError):
    """The request is wrong or too large (400, 413, 415)."""


class Forbidden(ApiError):
    """The call needs the token, or comes from a foreign web page (401, 403)."""


class NotFound(ApiError):
    """There is no such path or model (404)."""


class Conflict(ApiError):
    """The call cannot be answered here and now (409)."""


class Overloaded(ApiError):
    """There is too much to do (503), however often the service was asked."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequest,
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    503: Overloaded,
}


def of(response: httpx.Response) -> ApiError:
    """The error that an answer tells; one of a proxy between has no code."""
    try:
        told = response.json()["error"]
        code, message, path = str(told["code"]), str(told["message"]), told.get("path")
    except (ValueError, KeyError, TypeError, AttributeError):
        code, message, path = "unknown", response.text[:200] or response.reason_phrase, None
    return _BY_STATUS.get(response.status_code, ApiError)(response.status_code, code, message, path)
