"""What a back-test is judged by: coverage, for whom, and waste beside rivals that kill as many. Worked out by hand."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import audit.sizing.scores
from audit.sizing.attempts import LEVELS, MIB, TARGETS, Floats
from audit.sizing.coverage import by_user, coverage, interval, worst
from audit.sizing.equal_kills import addend, equal_kills
from audit.sizing.replay import Replay, replay
from audit.sizing.rivals import method_scores, pinball
from audit.sizing.scored import Compared, Method, Scored, scored
from audit.sizing.scores import score
from tests.sizing.clusters import attempts, busy, unbounded

SCHEMA = json.loads((Path(audit.sizing.scores.__file__).parent / "backtest.schema.json").read_text())


def judged(need: Floats, forecast: Floats | float, **columns: object) -> Scored:
    """Attempts that needed so much (no logarithm), all levels forecast alike, each in a burst of its own."""
    count = len(need)
    wide = np.broadcast_to(np.log(np.asarray(forecast, dtype=float))[..., None], (count, len(LEVELS)))
    parts = {"rows": np.arange(count), "user": np.zeros(count, dtype=np.int64), "burst": np.arange(count)}
    parts |= {"log_need": np.log(need), "forecasts": wide, "cut": np.zeros(count, dtype=bool)}
    return Scored(**{**parts, **columns})  # type: ignore[arg-type]


def same(
    need: list[float], asked: list[float], advised: list[bool] | None = None, target: str = "walltime"
) -> Compared:
    """Attempts of one second each on which methods are compared."""
    count = len(need)
    told = np.full(count, True) if advised is None else np.array(advised)
    return Compared(TARGETS[target], np.arange(count), told, np.log(need), np.log(asked), np.ones(count))


def fixed(name: str, *amounts: float, role: str = "rival", margin: str = "own") -> Method:
    return Method(name, role, margin, np.log(np.array(amounts)))


def test_coverage_is_the_share_at_or_below_and_its_error_has_a_sign() -> None:
    found = coverage(judged(np.arange(1.0, 11.0), 9.0), 0.95, tied=False)  # 1 to 9 of ten, 1 to 8 strictly below
    assert (found["realised"], found["below"]) == (0.9, 0.8)
    assert found["error"] == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("level", "error"),
    [
        (0.5, 0.3),  # 80 % lie below the forecast already
        (0.9, 0.0),  # 80 % below, 90 % at or below: no other whole number comes nearer
        (0.95, -0.05),
    ],
)
def test_of_whole_numbers_a_level_may_lie_among_those_that_needed_just_that(level: float, error: float) -> None:
    needs = np.array([1.0] * 8 + [2.0, 3.0])
    assert coverage(judged(needs, 2.0), level, tied=True)["error"] == pytest.approx(error)


def test_coverage_without_what_was_cut() -> None:
    cut = np.array([False, False, False, True])
    found = coverage(judged(np.array([1.0, 2.0, 5.0, 6.0]), 3.0, cut=cut), 0.5, tied=False)
    assert (found["realised"], found["without_bounds"]) == (0.5, pytest.approx(2 / 3))


def test_the_interval_counts_bursts_not_attempts() -> None:
    """Half of eight attempts. All apart: the variance is 8 x 0.25 / 64 x 8/7 = 1/28, so they are worth 0.25 x 28 = 7.

    In two bursts of four alike: (2 x 2 x 2) / 64 x 2 / 1 = 0.25, worth one attempt. Wilson's interval of 0.5 has the
    half-width z sqrt(0.25 / n + z^2 / (4 n^2)) / (1 + z^2 / n): 0.2976 of seven, 0.4454 of one.
    """
    hit = np.array([True] * 4 + [False] * 4)
    assert interval(hit, np.arange(8)) == pytest.approx((0.5 - 0.2976, 0.5 + 0.2976), abs=1e-4)
    assert interval(hit, np.repeat([0, 1], 4)) == pytest.approx((0.5 - 0.4454, 0.5 + 0.4454), abs=1e-4)


def test_an_interval_has_a_width_where_nothing_was_missed() -> None:
    low, high = interval(np.full(100, True), np.arange(100))
    assert low == pytest.approx(100 / (100 + 1.959964**2), abs=1e-6)  # Wilson's: n / (n + z^2)
    assert high == pytest.approx(1.0)


def test_users_are_judged_from_500_attempts_on_and_listed_from_100() -> None:
    """Ann (500) misses 5 % and is near p95 (her p90, 5 points off); Bob (500) misses 10 %; Cy has 100; Di too few."""
    user = np.repeat([0, 1, 2, 3], [500, 500, 100, 99])
    need = np.concatenate([np.tile([2.0] + [1.0] * 19, 25), np.tile([2.0] + [1.0] * 9, 50), np.ones(199)])
    found = by_user(judged(need, 1.5, user=user, burst=np.arange(1199) // 2), ["ann", "bob", "cy", "di"], tied=False)
    assert found["users"] == 2
    near = {row["level"]: row["share"] for row in found["within_2_points"]}
    assert near == {0.5: 0, 0.9: 0.5, 0.95: 0.5, 0.99: 0}
    assert [(row["user"], row["attempts"], row["bursts"]) for row in found["listed"]] == [
        ("ann", 500, 250),
        ("bob", 500, 250),
        ("cy", 100, 50),
    ]
    assert found["listed"][0]["realised"][2] == {"level": 0.95, "realised": 0.95}


def test_the_worst_thousand_in_a_row() -> None:
    need = np.ones(3000)
    need[1500:1600] = 2.0  # a hundred misses: at worst 10 % of a thousand
    decided = np.arange(3000.0)
    found = worst(judged(need, 1.5), 0.95, decided)
    assert found["realised"] == pytest.approx(0.9)
    assert found["from_s"] <= 1500
    assert found["to_s"] == found["from_s"] + 999 >= 1599
    assert worst(judged(need[:999], 1.5), 0.95, decided)["realised"] is None


def test_what_was_asked_caps_need_and_forecast_and_the_whole_is_rounded() -> None:
    """Asked for 2 GPUs: 1.2 is advised as 2, 7 as 2; the one that used 4 of 2 is the user's; 0.2 is none at all."""
    made = unbounded("gpus", attempts(4), np.array([1.0, 2.0, 4.0, 1.0]), asked=2.0)
    played = replay(made)
    issued = np.broadcast_to(np.log([[1.2], [7.0], [7.0], [0.2]]), (4, len(LEVELS)))
    found = scored(replace(played, issued=issued, abstained=np.zeros(4, dtype=bool)))
    assert np.exp(found.log_need).tolist() == pytest.approx([1, 2, 2, 1])
    assert np.exp(found.forecasts[:, 0]).tolist() == pytest.approx([2, 2, 2, 0.25])  # the floor of the logarithm
    assert found.at_or_below(0.99).tolist() == [True, True, True, False]


def test_what_a_method_kills_and_wastes() -> None:
    """Needs 10, 20, 40, asked 80, advised 20: the last is killed. Waste 10 + 0 + 20; need 70; held 3 x 20.

    Where the model abstained, the request stands for all: 80, of which 30 were needed, so 50 more wasted.
    """
    found = method_scores(same([10, 20, 40, 30], [80] * 4, [True, True, True, False]), [fixed("20", *[20] * 4)])[0]
    assert (found["attempts"], found["advised"], found["kills"]) == (4, 3, 1)
    assert found["kill_share"] == pytest.approx(1 / 3)
    assert found["over_request"] == pytest.approx((60 + 80) / 100)
    assert found["waste"] == pytest.approx(80)
    assert found["waste_share"] == pytest.approx(0.8)


def test_no_advice_lies_above_the_request_and_an_unknown_one_keeps_it() -> None:
    compared = same([1, 1, 1], [8, 8, 8])
    assert np.exp(compared.advice(np.log([4.0, 100.0, np.nan]))).tolist() == pytest.approx([4, 8, 8])


def test_pinball_loss_is_of_logarithms() -> None:
    """Needs e and 1 against 1 and e at 0.9: one short by 1 (0.9), one over by 1 (0.1): in the mean 0.5."""
    assert pinball(same([math.e, 1], [99, 99]), np.array([0.0, 1.0]), 0.9) == pytest.approx(0.5)


def test_the_addend_is_the_least_that_kills_no_more_than_allowed() -> None:
    """Of a hundred needs 1 to 100 against a forecast of 1, at 2 % two may be killed: 98 is to be reached."""
    compared = same(list(range(1, 101)), [1000] * 100)
    found = addend(compared, np.zeros(100), 0.02)
    assert math.exp(found) == pytest.approx(98)
    assert compared.killed(compared.advice(np.zeros(100), found)).sum() == 2


def test_the_addend_of_whole_numbers_stops_where_they_are_rounded_up() -> None:
    """Needs of 1 and 3 GPUs forecast as 1: more than 2.05 is advised as 3."""
    compared = same([1, 3], [8, 8], target="gpus")
    found = addend(compared, np.zeros(2), 0.0)
    assert math.exp(found) == pytest.approx(2.05)
    assert np.exp(compared.advice(np.zeros(2), found)).tolist() == pytest.approx([3, 3])


def test_methods_are_compared_where_all_kill_the_same_share() -> None:
    """Needs are 10 in the first half, 40 in the second. `flat` says 20: shifted to 10, it kills all of the second half;
    equalised there it says 40 and wastes nothing. `model` says 20 and 80: halved, it is right in both halves. `loose`
    says 20 or 40, then 80 or 160: halved, it wastes 0 or 10 of a need of 10."""
    compared = same([10.0] * 10 + [40.0] * 10, [160.0] * 20)
    methods = [
        fixed("model", *[20.0] * 10, *[80.0] * 10, role="model"),
        fixed("flat", *[20.0] * 20),
        fixed("loose", *[20.0, 40.0] * 5, *[80.0, 160.0] * 5),
        fixed("as it is", *[10.0] * 20, margin="as_issued"),
    ]
    found = equal_kills(compared, methods)[0]
    by_name = {row["method"]: row for row in found["methods"]}
    assert set(by_name) == {"model", "flat", "loose"}
    assert math.exp(by_name["flat"]["addend"]) == pytest.approx(0.5)
    assert by_name["flat"]["kill_share"] == 1
    assert by_name["flat"]["waste_share"] == pytest.approx(0.25)  # all of the 10 advised, of the 40 needed
    assert by_name["flat"]["waste_share_equalised"] == pytest.approx(0, abs=1e-9)
    assert by_name["loose"]["first_half_waste_share"] == pytest.approx(0.5)
    assert by_name["loose"]["waste_share_equalised"] == pytest.approx(0.5)
    assert found["best_fixed"] == "flat"
    assert by_name["model"]["kill_share"] == 0


@pytest.fixture(scope="module")
def played() -> Replay:
    return replay(busy(1500, seed=11))


def test_scores_are_as_documented(played: Replay) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    found = score(played, [f"user {i}" for i in range(8)])
    document = {"schema": "audit-backtest/1", "targets": [found]}
    assert [e.message for e in Draft202012Validator(SCHEMA).iter_errors(document)] == []
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert found["measured"] == found["attempts"] == 1500
    assert found["scored"] == 1500 - found["abstained"]["attempts"]
    assert found["mode"] == "submit"
    assert {row["user"] for row in found["per_user"]["listed"]} <= {f"user {i}" for i in range(8)}
    own = {(m["method"], m["margin"]) for m in found["methods"] if m["role"] == "rival"}
    assert {("request", "as_issued"), ("request", "own"), ("last_two", "own")} <= own
    request = next(m for m in found["methods"] if m["method"] == "request" and m["margin"] == "as_issued")
    assert request["kills"] == 0  # who passes the own request is the user's


def test_nobody_is_judged_on_attempts_that_were_abstained_on(played: Replay) -> None:
    nothing = replace(played, abstained=np.ones(1500, dtype=bool))
    found = score(nothing)
    assert (found["scored"], found["abstained"]["share"]) == (0, 1)
    assert found["coverage"][0]["realised"] is None
    assert {m["kills"] for m in found["methods"]} == {0}
    assert [e.message for e in Draft202012Validator(SCHEMA["$defs"]["target"]).iter_errors(found)] == []


def test_what_was_not_measured_is_no_zero() -> None:
    need = np.full(1000, 2.0 * MIB)
    need[::2] = np.nan
    found = score(replay(unbounded("memory", attempts(1000), need, asked=8.0 * MIB)))
    assert (found["attempts"], found["measured"]) == (1000, 500)
    assert 0 < found["scored"] <= 500
    assert found["coverage"][0]["realised"] == 1  # of a need that is always the same
