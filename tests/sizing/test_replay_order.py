"""Strict time order: a forecast rests on what had ended when it was made, and anything else is refused."""

from dataclasses import replace

import numpy as np
import pytest

from audit.sizing.attempts import LEVELS, Ints, Problem
from audit.sizing.known import Fit, Known, LeakError, checked, refuse_leaks
from audit.sizing.policy import Policy
from audit.sizing.replay import Replay, replay
from audit.sizing.selection import choose
from tests.sizing.clusters import attempts, busy, unbounded

SAID_S = {"empirical": 6000.0, "sharp": 600.0}
MIDDLE_S = 120_000.0  # of the busy cluster's time; about 300 of its attempts have ended by then


def hourly() -> Problem:
    """Five attempts, an hour apart, ten minutes long."""
    return unbounded("walltime", attempts(5), np.full(5, 600.0))


@pytest.mark.parametrize(
    ("row", "looks_at", "refused"),
    [
        (2, 1, False),  # ended at 4,200; the decision falls at 7,200
        (2, 2, True),  # its own outcome: ends at 7,800
        (2, 3, True),  # a later one
        (2, -1, False),  # nothing
    ],
)
def test_an_outcome_is_given_out_only_once_it_has_ended(row: int, looks_at: int, refused: bool) -> None:
    known = Known(hourly())
    rows: Ints = np.full((5, 1), -1)
    rows[row] = looks_at
    if refused:
        with pytest.raises(LeakError, match="planted"):
            known.values("planted", known.problem.need, rows)
    else:
        found = known.values("planted", known.problem.need, rows)[row, 0]
        assert np.isnan(found) if looks_at < 0 else found == 600


def test_what_ends_at_the_very_moment_of_a_decision_is_known() -> None:
    made = attempts(2, end_s=[3600.0, 4200.0], run_s=[3600.0, 600.0])
    known = Known(unbounded("walltime", made, made.run_s))
    rows, counts = known.last(made.user)
    assert counts.tolist() == [0, 1]
    assert known.values("need", known.problem.need, rows)[1, 0] == 3600
    refuse_leaks("the same moment", np.array([7.0]), np.array([7.0]))


@pytest.mark.parametrize(("learns", "serves", "refused"), [([0, 1], 2, False), ([0, 2], 2, True), ([4], 1, True)])
def test_a_model_may_not_learn_from_what_ends_after_the_first_row_it_serves(
    learns: list[int], serves: int, refused: bool
) -> None:
    fit = Fit(np.array(learns), slice(serves, None))
    if refused:
        with pytest.raises(LeakError, match="learns"):
            checked(fit, hourly())
    else:
        assert checked(fit, hourly()) is fit


def test_a_choice_may_not_rest_on_later_evidence() -> None:
    with pytest.raises(LeakError, match="row 1 was known at 5"):
        refuse_leaks("the choice", np.array([-np.inf, 5.0]), np.array([0.0, 4.0]))


def test_an_expert_is_chosen_by_what_had_ended_by_then() -> None:
    """Ten minutes are needed: `sharp` says so, `empirical` (listened to at first) says 100. The first choice is made when
    ten have ended, so for the eleventh attempt: it is submitted at 36,000, the tenth ended at 33,000."""
    made = unbounded("walltime", attempts(40), np.full(40, 600.0))
    forecasts = {name: np.full((40, len(LEVELS)), np.log(amount)) for name, amount in SAID_S.items()}
    policy = Policy(clock_from=10)
    assert choose(made, Known(made), forecasts, policy).tolist() == [0] * 10 + [1] * 30
    late = replace(made, attempts=replace(made.attempts, end_s=np.where(np.arange(40) == 4, 1e6, made.attempts.end_s)))
    assert choose(late, Known(late), forecasts, policy).tolist() == [0] * 11 + [1] * 29  # one of them ends only later


def test_refits_learn_from_ever_more_but_never_from_later_ends() -> None:
    made = busy(1500, seed=3)
    fits = list(Known(made).fits())
    assert len(fits) > 2
    assert [fit.serves.start for fit in fits] == sorted(fit.serves.start for fit in fits)
    for fit in fits:
        assert made.attempts.end_s[fit.learns].max() <= made.decided_s[fit.serves.start]


def other_outcomes(made: Problem, after_s: float) -> Problem:
    """The same cluster, all that ends after a moment having gone otherwise: needs, ends, bounds, some not measured."""
    rng = np.random.default_rng(99)
    late = made.attempts.end_s > after_s
    end = np.where(late, after_s + rng.exponential(9000.0, len(made)) + 1e-3, made.attempts.end_s)
    need = np.where(late, made.need * rng.lognormal(1.0, 1.5, len(made)), made.need)
    need[late & (rng.random(len(made)) < 0.2)] = np.nan
    bound = np.where(late, rng.random(len(made)) < 0.5, made.is_bound)
    run = np.where(late, end - made.attempts.start_s, made.attempts.run_s)
    return replace(made, attempts=replace(made.attempts, end_s=end, run_s=run), need=need, is_bound=bound)


def said(played: Replay, rows: Ints) -> dict[str, bytes]:
    """All that was decided on rows, byte by byte."""
    seen = played.seen
    parts = {"history": seen.history, "since": seen.since_s, "pending": seen.pending, "hour": seen.hour}
    parts |= {"chosen": played.chosen, "issued": played.issued, "abstained": played.abstained}
    parts |= {f"expert {name}": one.issued for name, one in played.experts.items()}
    parts |= {f"rival {name}": one.issued for name, one in played.rivals.items()}
    parts |= {f"as issued {name}": one for name, one in played.as_issued.items()}
    return {name: np.ascontiguousarray(part[rows]).tobytes() for name, part in parts.items()}


@pytest.mark.parametrize("at_start", [False, True], ids=["submit", "start"])
def test_outcomes_after_a_moment_change_no_forecast_before_it(at_start: bool) -> None:
    made = busy(900, seed=5, at_start=at_start)
    before = np.flatnonzero(made.decided_s <= MIDDLE_S)
    after = np.flatnonzero(made.decided_s > MIDDLE_S)
    played, other = replay(made), replay(other_outcomes(made, MIDDLE_S))
    assert np.isfinite(played.issued[before]).sum() > 500  # there is something to compare
    assert np.isfinite(played.experts["forest"].issued[before]).any()  # the learned ones included
    assert said(played, before) == said(other, before)
    assert said(played, after) != said(other, after)


def test_a_pending_job_is_foreseen_again_with_what_ended_while_it_waited() -> None:
    at_submit, at_start = (Known(busy(300, seed=8, at_start=flag)) for flag in (False, True))
    count = dict(zip(at_submit.problem.rows.tolist(), at_submit.count.tolist(), strict=True))
    later = np.array([count[row] for row in at_start.problem.rows.tolist()])
    assert (at_start.count >= later).all()
    assert (at_start.count > later).any()


def test_what_a_clock_made_end_before_its_submission_does_not_know_its_own_outcome() -> None:
    made = attempts(3, end_s=[600.0, 3000.0, 7800.0])  # the second: submitted at 3,600, ended at 3,000
    known = Known(unbounded("walltime", made, made.run_s))
    _, counts = known.last(made.user)
    assert counts.tolist() == [0, 1, 2]


@pytest.mark.parametrize("ended", [300, 600])
def test_whether_one_more_ends_after_every_decision_changes_no_refit(ended: int) -> None:
    made = attempts(ended + 50)
    late = np.where(np.arange(len(made)) == len(made) - 1, np.inf, made.end_s)
    fits = [
        [(len(fit.learns), fit.serves.start) for fit in Known(unbounded("walltime", one, one.run_s)).fits()]
        for one in (replace(made, end_s=late), made)
    ]
    assert fits[0] == fits[1]
    assert ended in [learns for learns, _ in fits[0]]
