"""Which days of accounting are asked, and when a day is not asked again."""

from datetime import UTC, datetime

import pytest

from audit.fleet.accounting import complete, days_due, sreport_words
from audit.fleet.deployment import Deployment


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def window(first: str, last: str, *done: str) -> Deployment:
    return Deployment("e", at(first), at(last), "ann@pc", at(first), days_done=done)


@pytest.mark.parametrize(
    ("done", "now", "days"),
    [
        ((), "2026-05-01T13:00", ["2026-05-01"]),
        ((), "2026-05-03T00:30", ["2026-05-01", "2026-05-02", "2026-05-03"]),
        (("2026-05-01",), "2026-05-03T00:30", ["2026-05-02", "2026-05-03"]),
        (("2026-05-01", "2026-05-02"), "2026-06-09T00:00", ["2026-05-03", "2026-05-04"]),  # the window ended on the 4th
    ],
)
def test_each_day_that_began_and_is_not_complete_is_asked(done: tuple[str, ...], now: str, days: list[str]) -> None:
    due = days_due(window("2026-05-01T12:00", "2026-05-04T12:00", *done), at(now))
    assert [first for first, _ in due] == days
    assert all(at(last) - at(first) == 86_400 for first, last in due)


@pytest.mark.parametrize(
    ("unended", "asked", "done"),
    [
        ({"2026-05-01": 0}, "2026-05-02T01:00", ("2026-05-01",)),
        ({"2026-05-01": 0}, "2026-05-02T00:59", ()),  # late records may still come
        ({"2026-05-01": 2}, "2026-05-09T00:00", ()),  # jobs of it run on
        ({}, "2026-05-09T00:00", ()),  # its query failed
    ],
)
def test_a_day_is_complete_an_hour_after_its_end_with_no_job_open(
    unended: dict[str, int], asked: str, done: tuple[str, ...]
) -> None:
    assert complete([("2026-05-01", "2026-05-02")], unended, at(asked)) == done


@pytest.mark.parametrize(
    ("now", "start", "end"),
    [
        ("2026-05-01T14:10", None, None),  # 13:00 to 14:00 is not rolled up yet
        ("2026-05-01T14:15", "2026-05-01T13:00:00", "2026-05-01T14:00:00"),
        ("2026-05-03T07:50", "2026-05-01T13:00:00", "2026-05-03T07:00:00"),
        ("2026-05-09T00:00", "2026-05-01T13:00:00", "2026-05-04T12:00:00"),
    ],
)
def test_slurms_own_report_is_asked_for_whole_hours_of_the_window(now: str, start: str | None, end: str | None) -> None:
    words = sreport_words(window("2026-05-01T12:30", "2026-05-04T12:30"), at(now))
    if start is None:
        assert words == []
    else:
        assert words[0] == "sreport"
        assert words[-2:] == [f"start={start}", f"end={end}"]
