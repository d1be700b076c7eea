"""Which node is fit for a collector, and what is said of one that is not."""

from typing import Any

import pytest

from audit.fleet.answer import Answer
from audit.fleet.fitness import skew_s, unfit

FIT = {"root": True, "init": "systemd", "disk_free_bytes": 20 * 2**30, "now_s": 1005.0, "engagement": None}


def answer(error: str = "", **found: Any) -> Answer:
    return Answer("n1", {**FIT, **found}, error=error, started_s=1000.0, ended_s=1006.0)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        ({}, ""),
        ({"engagement": "mine", "installed": True}, ""),
        ({"error": "cannot be reached: no route"}, "cannot be reached: no route"),
        ({"root": False}, "needs root there"),
        ({"init": None}, "nothing would start it after a reboot"),
        ({"disk_free_bytes": 2**30}, "1.0 GiB free in /var/lib, needs 1.25"),
        ({"now_s": 1006.0 + 61}, "its clock is off by 61.0 s"),
        ({"now_s": 1000.0 - 3600}, "its clock is off by -3600.0 s"),
        ({"cluster": "alpha"}, ""),
        ({"cluster": "beta"}, "it is of the cluster 'beta', audit.toml says 'alpha'"),
        ({"engagement": "theirs", "by": "bob@pc"}, "bob@pc has a collector there"),
    ],
)
def test_what_keeps_a_node_out_is_said(found: dict[str, Any], says: str) -> None:
    why = unfit(answer(**found), "alpha", "mine", take_over=False)
    assert (says in why) if says else why == ""


def test_a_collector_of_others_may_be_taken_over() -> None:
    assert unfit(answer(engagement="theirs"), "alpha", "mine", take_over=True) == ""


@pytest.mark.parametrize(
    ("now_s", "expected"),
    [(1000.0, 0), (1003.0, 0), (1006.0, 0), (1008.5, 2.5), (998.0, -2.0), (None, None), ("x", None)],
)
def test_a_clock_is_off_by_what_lies_outside_the_span_of_the_answer(now_s: Any, expected: float | None) -> None:
    assert skew_s(answer(now_s=now_s)) == expected
