"""How the window is written: in the cluster's own time for people, in UTC for checking."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class Period:
    """The window in words. `local` is None where the cluster's zone is not known or is UTC itself."""

    local: str | None
    utc: str
    days: str
    hours: float


def period(report: Mapping[str, Any]) -> Period:
    """The report's window; its end is exclusive, so a midnight end reads 24:00 of the day before."""
    window = report["window"]
    start, end = _instant(window["from"]), _instant(window["to"])
    zone = _zone(report.get("timezone"))
    utc = f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"
    if zone is None:
        return Period(None, utc, _days(start, end), window["hours"])
    here, there = start.astimezone(zone), end.astimezone(zone)
    year = "" if here.year == there.year else f" {here.year}"
    local = f"{_moment(here)}{year} to {_moment(there, closing=True)} {there.year}, {zone.key}"
    return Period(local, utc, _days(here, there), window["hours"])


def span(first: str | None, last: str | None) -> str | None:
    """Two UTC instants to the minute, or None where either is not known."""
    if first is None or last is None:
        return None
    return f"{_instant(first):%Y-%m-%d %H:%M} to {_instant(last):%Y-%m-%d %H:%M} UTC"


def local_time(at: datetime, timezone: str | None) -> datetime:
    """The instant in the cluster's zone; in UTC where that is not known."""
    return at.astimezone(_zone(timezone) or UTC)


def _instant(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _zone(name: str | None) -> ZoneInfo | None:
    if not name or name in ("UTC", "Etc/UTC"):
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # not a key, or no such zone on this machine: UTC still stands
        return None


def _moment(at: datetime, *, closing: bool = False) -> str:
    if closing and at.time() == datetime.min.time():
        before = at.replace(tzinfo=None) - timedelta(days=1)
        return f"{before:%a} {before.day} {before:%b} 24:00"
    return f"{at:%a} {at.day} {at:%b %H:%M}"


def _days(start: datetime, end: datetime) -> str:
    """The days the window touches: 2–15 November 2026."""
    last = end.replace(tzinfo=None) - timedelta(microseconds=1)
    if (start.year, start.month) == (last.year, last.month):
        days = f"{start.day}" if start.day == last.day else f"{start.day}–{last.day}"
        return f"{days} {last:%B %Y}"
    year = "" if start.year == last.year else f" {start.year}"
    return f"{start.day} {start:%B}{year} – {last.day} {last:%B %Y}"
