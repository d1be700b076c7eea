"""Every figure can be opened: its rows are the attempts, nodes or hours behind it, and add up to it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.accounting.explain import Explanation, explain
from audit.accounting.figure_keys import figure_list
from audit.accounting.figures import figures
from audit.accounting.glossary import FIGURES, MEMBERS
from audit.accounting.views import create_use_views
from audit.cli import main
from audit.errors import ExitCode, UsageError
from audit.sample import ACCELERATORS, generate
from audit.store import Options, ingest, open_current
from audit.workspace import QUANTILES, Prices, config_text, create_workspace
from tests.accounting.cluster import GIB, Cluster, at
from tests.dumps import dump, job, step

SECTIONS = """
    attempts jobs cost recoverable hours coverage slice efficiency lost recoverable_by_resource by_partition rejects
    accounts users families by_hour_of_week
""".split()
# What each attempt used times 0.6 to 1.4, more at a higher quantile; of every tenth the model knows too little.
ADVISED = """COPY (
    SELECT cluster, job_id_raw, submit, quantile, cores_max * 1.2 AS cores, gpus_used + hash(submit) % 2 AS gpus,
        mem_used_bytes * (quantile - 0.3 + hash(job_id_raw) % 70 / 100) AS mem_bytes, hash(job_id_raw) % 10 = 0 AS abstained
    FROM usage, (SELECT unnest($quantiles) AS quantile) AS asked
) TO $replay (FORMAT parquet)"""
FEW = 3  # rows of a long list that are walked
CENT = 0.005
TEN_DOLLARS = Prices(classes={"4xT4": 10.0, "cpu-10c-100GiB": 10.0})


def leaves(place: Any, key: str) -> Iterator[tuple[str, float | None]]:
    """The dotted keys of all numbers below a place, NULL or not; rows of lists by their names."""
    if isinstance(place, dict):
        for name, value in place.items():
            yield from leaves(value, f"{key}.{name}")
    elif isinstance(place, list):
        for row in place[:FEW]:
            name = "/".join("(none)" if row[k] is None else str(row[k]) for k in MEMBERS[key])
            for leaf, value in row.items():
                if leaf not in MEMBERS[key]:
                    yield from leaves(value, f"{key}.{name}.{leaf}")
    elif place is None or (isinstance(place, int | float) and not isinstance(place, bool)):
        yield key, place


def figures_of(report: dict[str, Any]) -> list[tuple[str, float | None]]:
    """The report's numbers; texts and tables that may be NULL are none."""
    tables = tuple(
        f"recoverable.{name}" for name in ("sampling", "expected_sampling", "kills", "low_kills", "slowed", "abstained")
    )
    told = ("coverage.reason", "policy_too_bold", ".user", ".partition", *tables)
    found = [leaf for section in SECTIONS for leaf in leaves(report[section], section)]
    return [(key, value) for key, value in found if not key.endswith(told)]


def check(opened: Explanation, value: float | None) -> None:
    """The rows come to the report's value: dollars to the cent, all else to the tenth digit."""
    assert opened.value == value
    if value is None:
        assert opened.notes, opened.figure
        assert (opened.rows, opened.total) == ((), None)
    elif opened.total is not None:
        tolerance = {"abs": CENT} if "usd" in opened.figure else {"rel": 1e-9, "abs": 1e-9}
        assert opened.worth == pytest.approx(value, **tolerance), opened.figure
        amount = opened.columns.index("amount")
        total = sum(row[amount] for row in opened.rows)
        assert total == pytest.approx(opened.total, rel=1e-9, abs=1e-6), opened.figure
        assert opened.shown == opened.of == len(opened.rows)


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A generated fortnight through the whole chain: the connection and the report made on it."""
    folder = tmp_path_factory.mktemp("fortnight")
    sample = generate(folder / "evidence", folder / "truth", jobs=800, gpus=32, days=14)
    text = config_text(
        cluster=sample.cluster,
        timezone=sample.timezone,
        window_from=sample.window_from.isoformat(),
        window_to=sample.window_to.isoformat(),
        accelerators=ACCELERATORS,
        generated_sample=True,
    )
    workspace = create_workspace(folder, text)
    assert not [r.error for r in ingest(workspace, [], options=Options(generated=True)) if r.error]
    workspace.models.mkdir()
    with open_current(workspace, lambda _: None) as store:
        create_use_views(store.connection, workspace)
        store.connection.execute(ADVISED, {"replay": str(workspace.replay), "quantiles": list(QUANTILES)})
        yield store.connection, figures(store.connection, workspace)


def test_every_figure_of_a_report_can_be_opened_and_its_rows_add_up_to_it(month: tuple[Any, dict[str, Any]]) -> None:
    connection, report = month
    for key, value in figures_of(report):
        check(explain(connection, report, key, limit=0), value)


def test_the_days_behind_the_sampling_error_are_those_of_the_figure(month: tuple[Any, dict[str, Any]]) -> None:
    connection, report = month
    opened = explain(connection, report, "recoverable.sampling.low_usd", limit=0)
    assert opened.of == report["recoverable"]["sampling"]["days"]
    assert sum(row[-1] for row in opened.rows) == pytest.approx(report["recoverable"]["high_usd"], abs=CENT)


def test_the_figures_of_advice_in_advance_are_there_and_opened_as_well(month: tuple[Any, dict[str, Any]]) -> None:
    connection, report = month
    won = report["recoverable"]
    assert won["kills"]["killed"] > 0
    assert won["low_usd"] is not None
    assert 0 < won["expected_gross_usd"] < won["high_usd"]
    killed = explain(connection, report, "recoverable.kills.killed", limit=0)
    assert killed.of == won["kills"]["killed"]
    assert explain(connection, report, "recoverable.reruns_usd", limit=0).of <= killed.of
    assert explain(connection, report, "recoverable.sensitivity.0.95.killed", limit=0).of > killed.of
    assert explain(connection, report, "recoverable.kills.of_memory", limit=0).of == won["kills"]["of_memory"] > 0
    assert explain(connection, report, "recoverable.abstained", limit=0).of == won["abstained"]["attempts"]


def test_so_can_those_where_node_sizes_are_unknown() -> None:
    # Nothing tells what a node has: held is priced by resource, and installed, down and idle are NULL with a reason.
    cluster = Cluster(window=(0, 240))
    cluster.advise("1", mem_bytes=2.0 * GIB)
    cluster.job("1", 0, 40, cores=4, mem_gib=8, gpus=2)
    cluster.job("2", 10, 30, cores=4, mem_gib=8, state="TIMEOUT")
    cluster.step("1", "0", 0, 40, rss_bytes=GIB, tasks=1, cpu_s=3600)
    connection, report = cluster.made
    assert report["cost"]["mode"] == "unbundled"
    for key, value in figures_of(report):
        check(explain(connection, report, key, limit=0), value)


def test_the_attempts_behind_a_figure_come_largest_first() -> None:
    # 10 dollars an hour for 10 cores: 1 holds all of them for an hour, 2 half for four, 3 a tenth for one.
    cluster = Cluster(window=(0, 10), prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, 1, cores=10, user_name="ann", account="astro", job_name="fit-7")
    cluster.job("2", 1, 5, cores=5, user_name="bob", state="FAILED")
    cluster.job("3", 5, 6, cores=1)
    connection, report = cluster.made
    opened = explain(connection, report, "cost.held_usd", limit=2)
    rows = [dict(zip(opened.columns, row, strict=True)) for row in opened.rows]
    assert [(r["job_id"], r["amount"]) for r in rows] == [("2", pytest.approx(20)), ("1", pytest.approx(10))]
    assert {k: v for k, v in rows[1].items() if k != "amount"} == {
        "job_id": "1",
        "submit": at(0),
        "user": "ann",
        "account": "astro",
        "job_name": "fit-7",
        "partition": "main",
        "state": "COMPLETED",
    }
    assert (opened.shown, opened.of, opened.total) == (2, 3, pytest.approx(31))
    assert (opened.unit, opened.value) == ("usd", 31)
    lost = explain(connection, report, "lost.FAILED")
    assert (lost.figure, lost.value, [row[0] for row in lost.rows]) == ("lost.FAILED.usd", 20, ["2"])


def test_a_month_is_the_same_rows_times_a_factor() -> None:
    # A fifth of the node through 7 days: 168 hours x 2 dollars, a month 730 / 168 of that.
    cluster = Cluster(window=(0, 168), prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, 168, cores=2)
    connection, report = cluster.made
    opened = explain(connection, report, "cost.held_usd_per_month")
    assert (opened.total, opened.factor) == (pytest.approx(336), pytest.approx(730 / 168))
    assert opened.value == opened.worth == pytest.approx(1460)


def test_a_share_tells_both_of_its_sums() -> None:
    # 1 is charged 40 through its memory, which was measured; 2 is charged 20 through cores, which were not.
    cluster = Cluster(prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, 4, mem_gib=100)
    cluster.job("2", 4, 6, cores=10, mem_gib=50)
    cluster.step("1", "batch", 0, 4, rss_bytes=5 * GIB)
    connection, report = cluster.made
    opened = explain(connection, report, "coverage.usd")
    assert (opened.total, opened.of_total, opened.value) == (
        pytest.approx(40),
        pytest.approx(60),
        pytest.approx(2 / 3),
    )
    assert [row[-2:] for row in opened.rows] == [(pytest.approx(40), pytest.approx(40)), (0, pytest.approx(20))]


def test_a_figure_of_nodes_shows_the_nodes() -> None:
    # n2 is down for 4 of 10 hours, n1 holds a job for 5: 60 + 50 node-dollars are idle.
    cluster = Cluster(window=(0, 10), prices=TEN_DOLLARS)
    cluster.node("n1", partitions="a")
    cluster.node("n2", partitions="a,b")
    cluster.job("1", 0, 5, cores=10)
    cluster.add("node_state", node="n2", from_time=at(2), to_time=at(6), state="DOWN", is_down=True)
    connection, report = cluster.made
    opened = explain(connection, report, "cost.idle_usd")
    assert opened.columns == ("node", "node_class", "hours", "amount")
    assert [(row[0], row[-1]) for row in opened.rows] == [("n2", pytest.approx(60)), ("n1", pytest.approx(50))]
    down = explain(connection, report, "by_partition.a,b.down_usd")
    assert [(row[0], row[-1]) for row in down.rows] == [("n2", pytest.approx(40))]


def test_a_point_of_a_family_shows_all_of_its_attempts() -> None:
    # Nine of ten attempts needed at most 9 GiB: the 90 % point of 1 to 10 GiB.
    cluster = Cluster(window=(0, 20), prices=TEN_DOLLARS)
    cluster.node("n1")
    for n in range(1, 11):
        cluster.job(str(n), n, n + 1, mem_gib=20, job_name=f"run-{n}", account="astro")
        cluster.step(str(n), "0", n, n + 1, submit=n, rss_bytes=n * GIB, tasks=1)
    connection, report = cluster.made
    opened = explain(connection, report, "families.astro/run-#.mem_need_p90_bytes")
    assert (opened.value, opened.total, opened.of) == (9 * GIB, None, 10)
    assert [row[-1] for row in opened.rows] == [n * GIB for n in range(10, 0, -1)]


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("recoverable.expected_usd", "no model"),
        ("recoverable.low_usd_per_month", "no model"),
        ("cost.idle_usd", "no node states"),
        ("hours.down.core", "no node states"),
        ("by_partition.main.idle_usd", "no node states"),
        ("cost.held_usd_per_month", "less than 7 days"),
        ("recoverable.high_usd", "was measured"),
        ("recoverable.sampling.low_usd", "was measured"),
        ("recoverable.freed_gpus", "without any measure"),
        ("efficiency.mem", "measured for no attempt"),
        ("cost.used_usd", "was measured"),
        ("coverage.gpu_hours", "no attempt held any"),
    ],
)
def test_a_figure_that_is_null_says_why(key: str, says: str) -> None:
    cluster = Cluster(prices=TEN_DOLLARS)
    cluster.node("n1", partitions="main")
    cluster.job("1", 0, 5)
    connection, report = cluster.made
    opened = explain(connection, report, key)
    assert (opened.value, opened.rows) == (None, ())
    assert says in opened.notes[0]


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("cost.hold_usd", "cost.held_usd"),
        ("held_usd", "cost.held_usd"),
        ("by_partition.mian.held_usd", "by_partition.main.held_usd"),
        ("users.anne.held_usd", "users.ann.held_usd"),
        ("", ""),
        ("by_partition..held_usd", ""),
        ("lost.", ""),
    ],
)
def test_an_unknown_figure_names_those_that_are_near(asked: str, near: str) -> None:
    cluster = Cluster(prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, 5, user_name="ann")
    connection, report = cluster.made
    with pytest.raises(UsageError) as caught:
        explain(connection, report, asked)
    assert near in str(caught.value)
    assert "`audit explain`" in str(caught.value)


def test_names_may_hold_what_keys_are_made_of() -> None:
    cluster = Cluster(prices=TEN_DOLLARS)
    cluster.node("n1", partitions="a.b")
    for number, name in enumerate(("a.b", "a.held_usd", "'; DROP TABLE job; --", "*")):
        cluster.job(str(number), number, number + 1, cores=5, partition=name, account=name, job_name=name)
    connection, report = cluster.made
    for row in report["by_partition"]:
        opened = explain(connection, report, f"by_partition.{row['partition']}.held_usd")
        assert [r[opened.columns.index("partition")] for r in opened.rows] == [row["partition"]]
    for row in report["families"]:
        opened = explain(connection, report, f"families.{row['account']}/{row['family']}.held_usd")
        assert [r[opened.columns.index("account")] for r in opened.rows] == [row["account"]]


def test_two_rows_of_one_name_are_told_apart() -> None:
    # Nodes of one class with one and with two hardware threads a core: two prices, two rows.
    cluster = Cluster(window=(0, 10))
    cluster.node("n1", vcpus=10)
    cluster.node("n2", mem_gib=100.2, vcpus=20)
    cluster.job("1", 0, 5, mem_gib=100, nodes="n1")
    cluster.step("1", "0", 0, 5, rss_bytes=GIB, tasks=1)
    connection, report = cluster.made
    assert {row["node_class"] for row in report["recoverable"]["by_class"]} == {"cpu-10c-100GiB"}
    keys = [f"recoverable.by_class.cpu-10c-100GiB{tail}.recoverable_usd" for tail in ("", "#2")]
    opened = [explain(connection, report, key) for key in keys]
    assert [e.value for e in opened] == [row["recoverable_usd"] for row in report["recoverable"]["by_class"]]
    assert [[row[0] for row in e.rows] for e in opened] == [["n1"], []]


def test_what_the_accounting_does_not_name_is_asked_for_as_none() -> None:
    cluster = Cluster(prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, 5, cores=10, partition=None)
    connection, report = cluster.made
    assert explain(connection, report, "by_partition.(none).held_usd").worth == pytest.approx(50)
    assert explain(connection, report, "users.(none).held_usd").of == 1


def test_the_list_of_figures_has_each_with_value_unit_and_meaning(month: tuple[Any, dict[str, Any]]) -> None:
    _, report = month
    listed = {row["figure"]: row for row in figure_list(report)}
    assert {"attempts", "cost.held_usd", "lost.TIMEOUT.usd", "families.ACCOUNT/FAMILY.held_usd"} <= set(listed)
    assert listed["cost.held_usd"]["value"] == report["cost"]["held_usd"]
    assert all(row["unit"] and row["meaning"] for row in listed.values())
    assert len({figure.key for figure in FIGURES}) == len(FIGURES)


@pytest.fixture
def alpha(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Three attempts of two people on one node, and a step of an attempt that is not there."""
    assert main(["init", str(tmp_path / "alpha"), "--cluster", "alpha", "--timezone", "UTC"]) == ExitCode.DONE
    jobs = tmp_path / "jobs"
    jobs.write_text(
        dump(
            job("900", User="margaret", JobName="/home/margaret/run.sh"),
            job("901", User="margaret", State="FAILED"),
            job("902", User="wolfgang", Account="a2", JobName="\x1b[31mred"),
            step("77", "margaret"),
        )
    )
    nodes = tmp_path / "nodes"
    nodes.write_text("NodeName=n1 CPUTot=16 RealMemory=65536 Gres=(null) ThreadsPerCore=1 Partitions=batch\n")
    main(["ingest", "--dir", str(tmp_path / "alpha"), str(jobs), str(nodes)])
    capsys.readouterr()
    return tmp_path / "alpha"


def run(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> tuple[int, str, str]:
    code = main(["explain", "--dir", str(folder), *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_verb_prints_json_with_stable_keys(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, alpha, "cost.held_usd", "--json", "--limit", "2")
    found = json.loads(out)
    assert code == ExitCode.DONE
    assert list(found) == [
        "figure", "label", "unit", "value", "meaning", "notes", "rows", "total", "of_total", "factor", "shown", "of",
        "real_names",
    ]  # fmt: skip
    assert (found["figure"], found["shown"], found["of"]) == ("cost.held_usd", 2, 3)
    assert list(found["rows"][0]) == ["job_id", "submit", "user", "account", "job_name", "partition", "state", "amount"]
    assert found["total"] == pytest.approx(found["value"])
    everything = json.loads(run(capsys, alpha, "cost.held_usd", "--json", "--limit", "0")[1])
    assert sum(row["amount"] for row in everything["rows"]) == pytest.approx(found["value"], abs=CENT)


def test_people_have_pseudonyms_unless_their_names_are_asked_for(
    alpha: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [
        run(capsys, alpha, figure)[1] for figure in ("cost.held_usd", "users.u-x.held_usd", "rejects.rows", "jobs")
    ]
    texts += [run(capsys, alpha, "--json")[1]]
    assert not [text for text in texts if "margaret" in text or "wolfgang" in text]
    assert "u-" in texts[0]
    rows = json.loads(run(capsys, alpha, "cost.held_usd", "--json")[1])["rows"]
    (pseudonym,) = {row["user"] for row in rows if row["job_id"] in ("900", "901")}
    theirs = json.loads(run(capsys, alpha, f"users.{pseudonym}.held_usd", "--json")[1])
    assert [row["job_id"] for row in theirs["rows"]] == ["900", "901"]
    assert "margaret" in run(capsys, alpha, "cost.held_usd", "--real-names")[1]
    assert run(capsys, alpha, "users.margaret.held_usd")[0] == ExitCode.USAGE


def test_the_verb_in_a_terminal(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, alpha, "attempts", "--limit", "1")
    assert (code, err) == (ExitCode.DONE, "")
    assert out.splitlines()[-2:] == ["2 more: 2 (--limit 0 shows all)", "total 3 attempts"]
    assert not {"\x1b", "\x07"} & set(run(capsys, alpha, "cost.held_usd")[1])
    assert "no figure" in run(capsys, alpha, "cost.heldusd")[2]
    assert run(capsys, alpha)[1].count("\n") > 100


def test_what_could_not_be_read_is_shown_with_its_place(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, alpha, "rejects.rows", "--json")[1])
    assert (found["value"], found["of"]) == (1, 1)
    assert {"file": "jobs", "line": 5}.items() <= found["rows"][0].items()
    assert "text" not in found["rows"][0]  # it may name people who are in no record that was read
    named = json.loads(run(capsys, alpha, "rejects.rows", "--json", "--real-names")[1])
    assert named["rows"][0]["text"] == "77.margaret"
    by_reason = run(capsys, alpha, f"rejects.by_reason.{found['rows'][0]['reason']}.rows")
    assert by_reason[0] == ExitCode.DONE
