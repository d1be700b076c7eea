"""Families to right-size: what is asked, what is recommended, what that would win, and how far it is to be trusted."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import audit.reporting.recommend
from audit.errors import AuditError, NoReportError
from audit.reporting.pseudonyms import Pseudonyms
from audit.reporting.recommend import RULE, limited, recommend, renamed
from audit.reporting.recommend_earlier import NAME, Run, keep_run, read_runs
from audit.reporting.recommend_files import files
from audit.workspace import Prices
from tests.accounting.cluster import GIB, Cluster

SCHEMA = json.loads(Path(audit.reporting.recommend.__file__).with_name("recommend.schema.json").read_text())
PRICES = Prices(classes={"8xT4": 24.0})
KEY = b"k" * 32


def lab(hours: float = 1, nodes: tuple[str, ...] = ("n1",)) -> Cluster:
    """Nodes of 100 cores, 100 GiB and 8 GPUs at 24 dollars an hour."""
    cluster = Cluster(window=(0, hours), prices=PRICES)
    for name in nodes:
        cluster.node(name, cores=100, mem_gib=100, gpus=8)
    return cluster


def job(cluster: Cluster, job_id: str, held: float, used: float | None, advised: float | None, **values: Any) -> None:
    """An attempt of one hour: GiB held, used and advised (None: not measured, no advice)."""
    start = values.pop("start", 0)
    who = {"user_name": "ann", "account": "lab", "job_name": "run", **values}
    cluster.job(job_id, start, start + 1, **{"cores": 1, "mem_gib": held, **who})
    if used is not None:
        cluster.step(job_id, "0", start, start + 1, submit=start, rss_bytes=int(used * GIB), tasks=1)
    if advised is not None:
        cluster.advise(job_id, submit=start, mem_bytes=advised * GIB)


def told(cluster: Cluster, **how: Any) -> dict[str, Any]:
    found, _ = both(cluster, **how)
    return found


def both(cluster: Cluster, *, by_user: bool = False, runs: tuple[Run, ...] = ()) -> tuple[dict[str, Any], Run]:
    connection, report = cluster.made
    return recommend(connection, report, by_user=by_user, runs=runs)


def families(found: dict[str, Any], part: str = "lower") -> dict[str, dict[str, Any]]:
    return {row["family"]: row for row in found[part]}


def test_dollars_are_what_advice_wins_of_a_family_less_reruns() -> None:
    # A node of 100 GiB for 24 dollars. big: 40 -> 20 saves 4.80. mixed: 20 -> 15 saves 1.20, and 10 -> 2 is killed (4
    # used): 2 % once more, 0.48. bad: 10 -> 5 is killed: 5 % once more, 1.20. still: nothing was advised.
    cluster = lab()
    job(cluster, "1", 40, 10, 20, job_name="big")
    job(cluster, "2", 20, 10, 15, job_name="mixed")
    job(cluster, "3", 10, 4, 2, job_name="mixed")
    job(cluster, "4", 10, 8, 5, job_name="bad")
    job(cluster, "5", 10, 8, None, job_name="still")
    found = told(cluster)
    assert [(row["family"], row["expected_usd"]) for row in found["lower"]] == [
        ("big", pytest.approx(4.80)),
        ("mixed", pytest.approx(0.72)),
    ]
    mixed = families(found)["mixed"]
    assert (mixed["killed"], mixed["tested"], mixed["rests_on"]) == (1, 2, 2)
    assert (mixed["memory_gross_usd"], mixed["reruns_usd"]) == pytest.approx((1.20, 0.48))
    assert found["rest"] == {"families": 2, "losing_families": 1, "losing_usd": pytest.approx(-1.20)}
    assert found["lower_usd"] + found["rest"]["losing_usd"] == pytest.approx(found["expected_usd"])


@pytest.mark.parametrize(
    ("late", "recent", "asked", "recommended"),
    [(12, 12, 40, 20), (10, 10, 40, 20), (4, 10, 80, 60), (0, 10, 80, 60)],
)
def test_today_is_the_last_quarter_of_the_window_and_at_least_ten_attempts(
    late: int, recent: int, asked: float, recommended: float
) -> None:
    # 60 hours, the last quarter from hour 45: there 40 GiB are held and 20 advised; before, 80 and 60, by 20 attempts.
    cluster = lab(hours=60)
    for number in range(20):
        job(cluster, f"a{number}", 80, 10, 60, start=number)
    for number in range(late):
        job(cluster, f"b{number}", 40, 10, 20, start=45 + number)
    (row,) = told(cluster)["lower"]
    assert (row["attempts"], row["recent_attempts"]) == (20 + late, recent)
    assert (row["mem_asked_bytes"], row["mem_recommended_bytes"]) == (asked * GIB, recommended * GIB)


def test_like_is_compared_with_like() -> None:
    # Three of five were not advised: what is asked is the median of the two that were.
    cluster = lab()
    for number, held in enumerate((10, 11, 12)):
        job(cluster, f"x{number}", held, 1, None)
    job(cluster, "1", 30, 10, 20)
    job(cluster, "2", 30, 10, 20)
    (row,) = told(cluster)["lower"]
    assert (row["mem_asked_bytes"], row["mem_recommended_bytes"]) == (30 * GIB, 20 * GIB)
    assert (row["attempts"], row["abstained"], row["abstained_share"]) == (5, 3, 0.6)


def test_amounts_are_rounded_up_on_each_node_and_over_all_of_them() -> None:
    # 2 nodes, 40 GiB over them; 9.5 advised are 4.75 a node, so 5, together 10.
    cluster = lab(nodes=("n1", "n2"))
    job(cluster, "1", 40, 8, 9.5, nodes="n1,n2", cores=2)
    (row,) = told(cluster)["lower"]
    assert (row["nodes"], row["most_nodes"], row["mem_recommended_bytes"]) == (2, 2, 10 * GIB)


def test_what_is_not_advised_is_null_with_its_reason() -> None:
    cluster = lab()
    job(cluster, "1", 40, 10, 20, job_name="no-gpu")
    job(cluster, "2", 10, 5, None, gpus=1, job_name="kept")
    job(cluster, "3", 10, 1, None, job_name="kept")
    found = told(cluster)
    (row,) = found["lower"]
    assert row["mem_recommended_bytes"] is not None
    assert (row["gpus_asked"], row["gpus_recommended"], row["cores_recommended"]) == (0, None, None)
    assert {"gpus_recommended", "cores_recommended"} <= set(row["reasons"])
    assert (row["time_limit_asked_s"], row["walltime_p90_s"]) == (None, 3600)
    assert "time_limit_asked_s" in row["reasons"]
    assert found["reasons"]["expected_usd_per_month"]  # an hour says nothing of a month
    assert row["expected_usd_per_month"] is None


def test_recent_attempts_that_needed_more_than_is_recommended_are_counted() -> None:
    # 40 held; 20 advised, and 30 of the last: it used 25. The median is 20: one of four measured ones needed more.
    cluster = lab(hours=4)
    for number in range(3):
        job(cluster, f"{number}", 40, 10, 20, start=number)
    job(cluster, "3", 40, 25, 30, start=3)
    (row,) = told(cluster)["lower"]
    assert (row["above"], row["memory_above"], row["gpus_above"], row["of_recent"]) == (1, 1, 0, 4)
    assert row["killed"] == 0  # each had advice of its own


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({}, "high"),
        ({"tested": 99}, "fair"),
        ({"tested": 20}, "fair"),
        ({"tested": 19}, "low"),
        ({"tested_days": 2}, "fair"),  # an array of one day is one trial
        ({"killed": 2}, "high"),  # 1 % of 200, as the quantile allows
        ({"killed": 3}, "fair"),
        ({"killed": 11}, "low"),  # more than 5 %
        ({"above": 1}, "fair"),  # 2 % of 50
        ({"above": 3}, "low"),
        ({"abstained": 40}, "high"),  # a fifth of 200
        ({"abstained": 41}, "fair"),
        ({"abstained": 101}, "low"),
    ],
)
def test_confidence_follows_its_rule(changed: dict[str, int], word: str) -> None:
    row = {"attempts": 200, "tested": 200, "tested_days": 3, "killed": 0, "above": 0, "of_recent": 50, "abstained": 0}
    assert RULE.judged(row | changed, 0.99)[0] == word


def test_a_bolder_quantile_allows_more_kills() -> None:
    row = {"attempts": 200, "tested": 200, "tested_days": 3, "killed": 20, "above": 0, "of_recent": 50, "abstained": 0}
    assert [RULE.judged(row, quantile)[0] for quantile in (0.9, 0.95, 0.99)] == ["high", "fair", "low"]


@pytest.mark.parametrize(
    ("held", "used", "state", "recommended", "lost"),
    [
        (8, 8, "OUT_OF_MEMORY", 16, 1.92),  # its need is not known: twice what it was killed at; 8 % of 24 lost
        (8, 12, "COMPLETED", 12, 0),  # its peak
        (8, 20, "OUT_OF_MEMORY", 20, 1.92),
        (60, 60, "OUT_OF_MEMORY", 100, 14.4),  # a node has no more
        (100, 100, "OUT_OF_MEMORY", None, 24.0),
    ],
)
def test_a_family_that_asks_for_too_little_is_to_be_raised(
    held: float, used: float, state: str, recommended: float | None, lost: float
) -> None:
    cluster = lab()
    job(cluster, "1", held, used, held, state=state)
    found = told(cluster)
    assert found["lower"] == []
    (row,) = found["raise"]
    assert row["mem_asked_bytes"] == held * GIB
    assert row["mem_recommended_bytes"] == (recommended and recommended * GIB)
    assert ("mem_recommended_bytes" in row["reasons"]) == (recommended is None)
    assert (row["short"], row["out_of_memory"]) == (1, int(state == "OUT_OF_MEMORY"))
    assert row["lost_usd"] == pytest.approx(lost)


def test_families_are_split_by_user_where_asked() -> None:
    cluster = lab()
    job(cluster, "1", 40, 10, 20, user_name="ann")
    job(cluster, "2", 20, 4, 10, user_name="bob")
    (one,), two = told(cluster)["lower"], told(cluster, by_user=True)["lower"]
    assert (one["users"], one["user"]) == (2, None)
    assert [(row["user"], row["expected_usd"]) for row in two] == [
        ("ann", pytest.approx(4.8)),
        ("bob", pytest.approx(2.4)),
    ]
    assert one["expected_usd"] == pytest.approx(sum(row["expected_usd"] for row in two))


def week(shapes: dict[str, tuple[float, float, float]]) -> Cluster:
    """A week in which each family runs one attempt of an hour with these GiB held, used and advised."""
    cluster = lab(hours=168)
    for day in range(1, 7):  # a day without accounting would be a gap
        job(cluster, f"day{day}", 1, 1, None, start=24 * day, job_name="filler")
    for name, (held, used, advised) in shapes.items():
        job(cluster, name, held, used, advised, job_name=name)
    return cluster


def test_a_run_is_compared_with_the_one_before(tmp_path: Path) -> None:
    # A month is 730 / 168 weeks. stays: as before. takes: it asks for 19, where 19 were recommended, but 20 asked: no clear
    # change. other: 12 instead of 15 are recommended. done: it asks for what was recommended. away: it did not run.
    first, kept = both(
        week(
            {"stays": (20, 5, 10), "takes": (20, 2, 19), "other": (20, 5, 15), "done": (20, 5, 10), "away": (10, 2, 5)}
        )
    )
    keep_run(tmp_path, kept)
    assert first["earlier"] is None
    assert all(row["change"] is None for row in first["lower"])
    later = week(
        {"stays": (20, 5, 10), "takes": (19, 2, 10), "other": (20, 5, 12), "done": (10, 5, 10), "new": (20, 5, 10)}
    )
    found, now = both(later, runs=tuple(read_runs(tmp_path, "family")))
    assert found["earlier"]["made"] == kept.made
    change = {name: row["change"] for name, row in families(found).items()}
    assert {name: one["is_new"] for name, one in change.items()} == {
        "stays": False, "takes": False, "other": False, "new": True,
    }  # fmt: skip
    assert change["stays"]["expected_usd_per_month_change"] == 0
    assert change["stays"]["adopted"] == change["stays"]["recommendation_changed"] == []
    assert (change["takes"]["adopted"], change["takes"]["recommendation_changed"]) == ([], ["memory"])
    assert change["other"]["recommendation_changed"] == ["memory"]
    # 5 % of 24 before, 8 % now.
    assert change["other"]["expected_usd_per_month_change"] == pytest.approx(0.03 * 24 * 730 / 168)
    assert {row["family"]: row["adopted"] for row in found["no_longer"]} == {"done": ["memory"], "away": []}
    assert len({row["why"] for row in found["no_longer"]}) == 2

    keep_run(tmp_path, now)
    again, _ = both(later, runs=tuple(read_runs(tmp_path, "family")))
    assert again["earlier"] == found["earlier"]  # nothing is new since: still compared with the one before
    assert again["no_longer"] == found["no_longer"]


@pytest.mark.parametrize(
    ("held", "adopted"), [(40, False), (23, False), (22, True), (20, True), (18, True), (17, False)]
)
def test_adopted_is_within_a_tenth_of_what_was_recommended(held: float, adopted: bool) -> None:
    _, then = both(week({"run": (40, 2, 20)}))
    found = told(week({"run": (held, 2, 5)}), runs=(then,))
    (row,) = found["lower"]
    assert row["change"]["adopted"] == (["memory"] if adopted else [])


def test_runs_by_family_and_by_user_are_kept_apart(tmp_path: Path) -> None:
    cluster = week({"run": (40, 2, 20)})
    for by_user in (False, True):
        keep_run(tmp_path, both(cluster, by_user=by_user)[1])
    assert [[one.user for one in run.families] for by in ("family", "user") for run in read_runs(tmp_path, by)] == [
        [None],
        ["ann"],
    ]


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"schema": "audit-recommend-runs/1", "runs": {"family": [{"made": 1}]}}', "[" * 100_000, "\x00"],
)
def test_a_damaged_file_of_runs_says_where_and_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(AuditError, match="delete it") as caught:
        read_runs(tmp_path, "family")
    assert NAME in str(caught.value)


@pytest.mark.parametrize("advised", [False, True], ids=["no replay", "of other attempts"])
def test_without_a_model_there_is_nothing_to_recommend(advised: bool) -> None:
    cluster = lab()
    job(cluster, "1", 40, 10, None)
    if advised:
        cluster.advise("other", mem_bytes=1.0 * GIB)
    with pytest.raises(NoReportError, match="run `audit train`"):
        told(cluster)


HOSTILE = (
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "{{ 7 * 7 }} </style>",
    "\u202egnp.exe\x1b[31m",
    "n" * 10_000,
    "annika's job",
)


def hostile() -> Cluster:
    """Advice to lower, to raise, and families that are gone, all of them with names of somebody who means harm."""
    cluster = lab()
    for number, name in enumerate(HOSTILE):
        site = {} if "annika" in name else {"partition": name}  # what the site named stays as it is
        job(cluster, f"{number}", 4, 1, 2, job_name=name, account=name, user_name="annika", **site)
        job(cluster, f"r{number}", 2, 4, 2, job_name=name, account=f"{name}.", user_name="annika")
    return cluster


def test_the_files_name_nobody_and_hold_no_formula_no_tag_and_no_other_file() -> None:
    cluster = hostile()
    gone = lab()
    for number, name in enumerate(HOSTILE):
        job(gone, f"{number}", 4, 1, 2, job_name=f"{name}!", user_name="annika")
    found = told(cluster, runs=(both(gone)[1],))
    shown = renamed(found, Pseudonyms(["annika"], KEY))
    assert len(shown["lower"]) == len(shown["raise"]) == len(shown["no_longer"]) == len(HOSTILE)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(shown)] == []
    written = files(shown, limited(shown, 0), cluster.made[1])
    for content in (*written.values(), json.dumps(shown).encode()):
        assert b"annika" not in content
    rows = list(csv.DictReader(io.StringIO(written["recommend.csv"].decode())))
    assert len(rows) == 2 * len(HOSTILE)
    assert not [cell for row in rows for cell in row.values() if cell[:1] in ("=", "@", "+")]
    html = written["recommend.html"].decode()
    assert "<script" not in html
    assert html.count("</style>") == 1
    assert "{{ 7 * 7 }}" in html
    assert "\u202e" not in html and "\x1b" not in html and "n" * 100 not in html
    assert "src=" not in html and "href=" not in html


def test_a_page_of_families_to_lower_is_cut_and_the_csv_is_not() -> None:
    cluster = lab()
    for number in range(5):
        job(cluster, f"{number}", 10, 2, 5, job_name=f"run-{'abcde'[number]}")
    found = told(cluster)
    few = limited(found, 2)
    assert (len(few["lower"]), few["lower_families"]) == (2, 5)
    written = files(found, few, cluster.made[1])
    assert written["recommend.csv"].count(b"\nlower,") == 5
    assert written["recommend.html"].count(b"run-") == 2


def test_a_generated_sample_says_so_in_both_files() -> None:
    cluster = lab()
    job(cluster, "1", 40, 10, 20)
    cluster.add("evidence_file", file_id=1, generated=True)
    found = told(cluster)
    assert found["generated_sample"]
    written = files(found, found, cluster.made[1])
    assert b"Generated sample" in written["recommend.html"]
    assert next(csv.DictReader(io.StringIO(written["recommend.csv"].decode())))["generated_sample"] == "true"


def test_whole_nodes_keep_their_requests() -> None:
    cluster = lab(hours=2)
    job(cluster, "1", 50, 10, 20, exclusive=True, job_name="whole")
    job(cluster, "2", 40, 10, 20, start=1)
    assert list(families(told(cluster))) == ["run"]
