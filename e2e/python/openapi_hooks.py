"""What schemathesis must know that no schema can say: SCHEMATHESIS_HOOKS=openapi_hooks."""
import datetime

import schemathesis
from hypothesis import strategies

# RFC 3339 has zones of 23 hours and leap seconds; the service takes zones of 18 hours, as Java does.
ZONES = strategies.integers(-18 * 60, 18 * 60).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)
TIMES = strategies.datetimes(timezones=ZONES).map(datetime.datetime.isoformat)
schemathesis.openapi.format("date-time", TIMES)


def past(time):
    """The same kind of time, but not of the future, whose events are refused."""
    if isinstance(time, (int, float)) and not isinstance(time, bool):
        return -abs(time)
    if isinstance(time, str) and time.isascii() and time.isdigit():
        return f"-{time}"
    if isinstance(time, str) and len(time) > 10 and "2020" < time[:4] <= "9999":
        return f"2020-01-01{time[10:]}"
    return time


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.operation.path == "/feedback":
        for event in case.body if isinstance(case.body, list) else [case.body]:
            if isinstance(event, dict) and "timestamp" in event:
                event["timestamp"] = past(event["timestamp"])
