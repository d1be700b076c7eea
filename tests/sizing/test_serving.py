"""The model that serves is the one that was back-tested, and a file that is no such model is refused in one line."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.accounting.relations import build
from audit.errors import AuditError
from audit.sizing.attempts import LEVELS
from audit.sizing.histories import Histories, Job
from audit.sizing.identity import Names, family, mixed, text_hashes
from audit.sizing.known import Known
from audit.sizing.model_file import load, save
from audit.sizing.replay import Replay, replay
from audit.sizing.serving import Served, levels_at
from audit.sizing.training import served, usual_pending
from tests.sizing.clusters import attempts, busy, unbounded
from tests.sizing.trained import NAMES, job, until

GIB = 2.0**30
SEED = 3  # the refit at 600 ended attempts falls on a decision that knows of just these


@pytest.fixture(scope="module")
def whole() -> Replay:
    return replay(busy(700, seed=SEED))


@pytest.fixture(scope="module")
def row(whole: Replay) -> int:
    """One at which the models of the back-test were fitted on just what had ended: the last one of that kind."""
    counts = whole.known.count
    return [fit.serves.start for fit in whole.known.fits() if len(fit.learns) == counts[fit.serves.start]][-1]


@pytest.fixture(scope="module")
def then(whole: Replay, row: int) -> Replay:
    return replay(until(whole.problem, row))


def of(replayed: Replay, expert: str) -> Served:
    """What serves if that expert is listened to."""
    chosen = np.full_like(replayed.chosen, list(replayed.experts).index(expert))
    return served(replace(replayed, chosen=chosen), NAMES)


@pytest.mark.parametrize("expert", ["blend", "forest", "boosted", "empirical", "request_max", "key_max", "last_two"])
def test_what_is_served_is_what_the_back_test_issued(whole: Replay, then: Replay, row: int, expert: str) -> None:
    forecast = of(then, expert).forecast(job(whole.problem, row, float(whole.seen.pending[row])))
    issued = whole.experts[expert].issued[row]
    assert np.isfinite(issued).all()
    np.testing.assert_allclose(np.log(forecast.needs), issued, atol=1e-6)


def test_the_champion_at_the_end_serves(then: Replay, whole: Replay, row: int) -> None:
    found = served(then, NAMES)
    assert found.expert == list(then.experts)[then.chosen[-1]]
    forecast = found.forecast(job(whole.problem, row, float(whole.seen.pending[row])))
    np.testing.assert_allclose(np.log(forecast.needs), whole.issued[row], atol=1e-6)
    assert forecast.like == round(whole.seen.count("key")[row])
    assert forecast.like_user == round(whole.seen.count("user")[row])


@pytest.mark.parametrize("expert", ["blend", "scaled_request"])
def test_a_model_comes_back_from_its_file_as_it_was(tmp_path: Path, then: Replay, expert: str) -> None:
    model = of(then, expert)
    save(tmp_path, "memory", model.arrays, {})
    found = load(tmp_path, "memory")
    again = Served.from_arrays("memory", expert, found.arrays, "there")
    for at in range(0, len(then.problem), 97):
        asked = job(then.problem, at, pending=at % 5)
        assert again.forecast(asked).needs.tolist() == model.forecast(asked).needs.tolist()


def test_no_name_is_in_the_file(tmp_path: Path, then: Replay) -> None:
    renamed = Names([f"somebody{i}" for i in range(8)], ["secretaccount/hushjob"] * 3, ["hiddenpart"])
    save(tmp_path, "memory", served(then, renamed).arrays, {})
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not [name for name in (b"somebody", b"secret", b"hush", b"hidden") if name in content]


def test_a_user_and_a_name_never_seen_are_foreseen_from_all(then: Replay) -> None:
    stranger = Job("nobody", "no", "never", "batch", 4.0, 8 * GIB, np.nan, np.nan, 1e6)
    forecast = served(then, NAMES).forecast(stranger)
    assert (forecast.like, forecast.like_user) == (0, 0)
    assert np.isfinite(forecast.needs).all()
    assert np.isnan(forecast.missed_user).all()
    assert np.isfinite(forecast.missed).all()


def test_without_an_account_the_one_last_run_counts(then: Replay) -> None:
    model = served(then, NAMES)
    said = job(then.problem, len(then.problem) - 1)
    unsaid = replace(said, account=None)
    assert model.forecast(unsaid).needs.tolist() == model.forecast(said).needs.tolist()
    assert model.forecast(replace(said, account="other")).like == 0


def test_one_user_with_many_jobs_waiting_is_told_more_at_the_top(then: Replay) -> None:
    model = served(then, NAMES)
    asked = job(then.problem, len(then.problem) - 1)
    assert model.forecast(replace(asked, pending=400.0)).at(0.9) >= model.forecast(asked).at(0.9)


@pytest.mark.parametrize(
    ("need_gib", "asked_gib", "cut", "killed_at", "unproven"),
    [
        ([1, 2, 1], [4, 4, 4], [0, 0, 0], np.nan, False),  # none was killed
        ([1, 4, 1], [4, 4, 4], [0, 1, 0], 4.0, False),  # killed at 4; the one after it got through
        ([1, 2, 4], [4, 4, 4], [0, 0, 1], 4.0, True),  # the last one was killed
        ([8, 4, 4], [8, 4, 4], [1, 1, 1], 8.0, True),
        ([1, 2, 1], [4, 4, 4], [0, 0, 1], np.nan, False),  # cut by its time limit, below what it asked for
    ],
)
def test_what_jobs_like_it_were_killed_at_is_known(
    need_gib: list[float], asked_gib: list[float], cut: list[int], killed_at: float, unproven: bool
) -> None:
    made = attempts(3, cores=[2.0] * 3, mem_bytes=np.array(asked_gib) * GIB)
    problem = replace(
        unbounded("memory", made, np.array(need_gib) * GIB, np.array(asked_gib) * GIB),
        is_bound=np.array(cut, dtype=bool),
    )
    histories = Histories.of(problem, Known(problem), Names(["u"], ["a/n"], ["p"]))
    asked = Job("u", "a", "n", "p", 2.0, 16 * GIB, np.nan, np.nan, 1e6)
    found = histories.bound(asked, histories.groups_of(asked))
    assert found == (pytest.approx(killed_at * GIB, nan_ok=True), unproven)


@pytest.mark.parametrize(
    ("cores", "gpus", "is_known"),
    [
        (4.0, 1.0, True),  # as it was killed
        (8.0, 1.0, True),  # twice the cores
        (2.0, 1.0, True),  # half
        (9.0, 1.0, False),
        (1.0, 1.0, False),
        (np.nan, np.nan, True),  # not said
        (4.0, 2.0, False),
        (4.0, 0.0, False),
    ],
)
def test_what_killed_a_job_of_about_its_size_is_known(cores: float, gpus: float, is_known: bool) -> None:
    made = attempts(1, cores=[4.0], gpus=[1.0], mem_bytes=[4 * GIB])
    problem = replace(unbounded("memory", made, np.array([4 * GIB]), 4 * GIB), is_bound=np.array([True]))
    histories = Histories.of(problem, Known(problem), Names(["u"], ["a/n"], ["p"]))
    asked = Job("u", "a", "n", "p", cores, 16 * GIB, gpus, np.nan, 1e6)
    assert np.isfinite(histories.bound(asked, histories.groups_of(asked))[0]) == is_known


def test_gpus_not_said_are_another_request_than_none(tmp_path: Path) -> None:
    # of six attempts of one name two asked for no GPU, three did not say, one asked for one
    gpus = np.array([0.0, np.nan, 0.0, np.nan, np.nan, 1.0])
    problem = unbounded("memory", attempts(6, gpus=gpus), np.full(6, GIB))
    histories = Histories.of(problem, Known(problem), Names(["u"], ["a/n"], ["p"]))
    save(tmp_path, "memory", histories.to_arrays(), {})
    again = Histories.from_arrays(problem.target, load(tmp_path, "memory").arrays, "there")
    job = Job("u", "a", "n", "p", np.nan, np.nan, np.nan, np.nan, 1e6)
    for said, many in ((np.nan, 3), (0.0, 2), (1.0, 1), (2.0, 0)):
        group = again.groups_of(replace(job, gpus=said))["request"]
        rows, ended = again.windows["request"].rows(group)
        assert (len(rows), ended) == (many, many)


def test_as_many_of_a_users_jobs_wait_as_is_usual(then: Replay) -> None:
    model = served(then, NAMES)
    asked = job(then.problem, len(then.problem) - 1)
    of_user = then.seen.pending[then.problem.attempts.user == then.problem.attempts.user[-1]]
    usual = float(np.sort(of_user[-200:])[(min(len(of_user), 200) - 1) // 2])
    unsaid = model.forecast(replace(asked, pending=None))
    assert usual > 0
    assert unsaid.pending == usual
    assert unsaid.needs.tolist() == model.forecast(replace(asked, pending=usual)).needs.tolist()


def test_the_usual_number_is_the_median_of_the_last_two_hundred() -> None:
    # user 0: 300 decisions with 9 waiting, then 101 with 3 and 99 with 5: of the last 200 the median is 3;
    # user 2: 1, 4, 7; all together 101 threes, 99 fives, 1, 4, 7: of 203 the 102nd in order is the last 3
    user = np.repeat([0, 2], [500, 3])
    pending = np.concatenate([np.repeat([9.0, 3.0, 5.0], [300, 101, 99]), [7.0, 1.0, 4.0]])
    assert usual_pending(user, pending, np.array([2, 0])).tolist() == [4.0, 3.0, 3.0]


def test_the_level_advised_is_the_next_one_that_is_calibrated() -> None:
    asked = (0.5, 0.6, 0.9, 0.97, 0.99, 0.995, 0.999)
    assert [levels_at(LEVELS, q) for q in asked] == [0.5, 0.9, 0.9, 0.98, 0.99, 0.995, None]


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "an array is missing": lambda a: a.pop("scores"),
    "a history is missing": lambda a: a.pop("key.newest"),
    "of another type": lambda a: a.update(log_need=a["log_need"].astype(np.float32)),
    "of another length": lambda a: a.update(end_s=a["end_s"][:-1]),
    "not finite": lambda a: a.update(log_need=np.full_like(a["log_need"], np.nan)),
    "rows that are not there": lambda a: a.update({"key.newest": a["key.newest"] + 10**6}),
    "rows below the first": lambda a: a.update({"key.newest": a["key.newest"] - 10**6}),
    "windows that overlap": lambda a: a.update({"user.first": a["user.first"][::-1].copy()}),
    "groups out of order": lambda a: a.update({"key.group": a["key.group"][::-1].copy()}),
    "more attempts than ended": lambda a: a.update({"key.ended": np.zeros_like(a["key.ended"])}),
    "users out of order": lambda a: a.update(users=a["users"][::-1].copy()),
    "debts of other users": lambda a: a.update(user_debt=a["user_debt"][:-1]),
    "pending attempts of other users": lambda a: a.update(pending=a["pending"][:-1]),
    "fewer pending than none": lambda a: a.update(pending=a["pending"] - 1e6),
    "a weight below nothing": lambda a: a.update(weight=np.array(-1.0)),
    "more scores than are kept": lambda a: a.update(scores=np.zeros((5000, 6))),
    "scores of other levels": lambda a: a.update(scores=np.zeros((10, 3))),
    "no trees": lambda a: a.pop("forest.bound"),
    "trees that look elsewhere": lambda a: a.update({"forest.features": np.array([99]), "boosted.features": np.array([99])}),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_is_no_model_is_one_line(then: Replay, damage: str) -> None:
    arrays = dict(of(then, "blend").arrays)
    DAMAGE[damage](arrays)
    with pytest.raises(AuditError, match="run `audit train` again") as raised:
        Served.from_arrays("memory", "blend", arrays, "models/memory.arrays")
    assert str(raised.value).startswith("models/memory.arrays: ")


@pytest.mark.parametrize(("target", "expert"), [("memory", "oracle"), ("luck", "blend")])
def test_a_card_that_names_what_is_not_there_is_refused(then: Replay, target: str, expert: str) -> None:
    with pytest.raises(AuditError, match="no target or no expert"):
        Served.from_arrays(target, expert, of(then, "blend").arrays, "there")


@pytest.fixture(scope="module")
def accounting() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    build(connection, ("family",))
    return connection


ODD_NAMES = [
    "", "train", "train_v2", "run-2026-05-01T12:30:00", "2026-05-01", "job.12.3_4", "sweep_0x1f3a", "abcdef12", "deadbeef",
    "123e4567-e89b-12d3-a456-426614174000", "a1b2c3d4e5", "cafebabe0", "x#1#2", "١٢٣", "train\n7", "#-#.#", "0000000g",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_family_is_the_one_that_accounting_makes(accounting: duckdb.DuckDBPyConnection, name: str) -> None:
    assert accounting.execute("SELECT family(?)", [name]).fetchall() == [(family(name),)]


@settings(max_examples=300, deadline=None)
@given(st.text("09afAFgz-_.:#T \n", max_size=40))
def test_any_name_has_the_family_that_accounting_makes(name: str) -> None:
    connection = duckdb.connect()
    build(connection, ("family",))
    assert connection.execute("SELECT family(?)", [name]).fetchall() == [(family(name),)]


def test_a_name_of_a_megabyte_is_read_as_far_as_slurm_keeps_it() -> None:
    assert family("a" * 1_000_000) == "a" * 1024


def test_numbers_tell_texts_and_amounts_apart() -> None:
    texts = text_hashes(["a", "b", "", "\udcff", "a"])
    assert texts[0] == texts[4]
    assert len(set(texts.tolist())) == 4
    one = mixed(texts[:1], np.array([np.nan]), np.array([0.0]))
    assert one == mixed(texts[:1], -np.array([np.nan]), np.array([-0.0]))
    assert one != mixed(texts[:1], np.array([0.0]), np.array([np.nan]))
