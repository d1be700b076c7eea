"""Two windows side by side: what adds up, what changed, and what cannot be compared."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from audit.accounting import figures
from audit.errors import UsageError
from audit.reporting.compare import alike, comparison, comparison_lines, comparison_table, side
from audit.sample import ACCELERATORS, generate
from audit.store import Options, ingest, open_store
from audit.workspace import Workspace, config_text, create_workspace, to_utc
from tests.accounting.cluster import Cluster

DAYS = "2026-05-01..2026-05-15"


def folder(root: Path, *edits: tuple[str, str], cluster: str = "alpha") -> Path:
    """An engagement's folder, its audit.toml as `audit init` writes it but for `edits`."""
    create_workspace(root, config_text(cluster=cluster, timezone="Europe/Berlin"))
    for before, after in edits:
        text = (root / "audit.toml").read_text()
        assert before in text
        (root / "audit.toml").write_text(text.replace(before, after))
    return root


def test_a_side_is_a_window_of_this_engagement_or_another_folder(tmp_path: Path) -> None:
    here, there = folder(tmp_path / "here"), folder(tmp_path / "there", cluster="beta")
    window = side("2026-05-01..2026-05-15T12:00", here)
    assert (window.root, window.config.cluster) == (here, "alpha")
    assert window.config.window_from == to_utc(datetime(2026, 5, 1), "Europe/Berlin")  # midnight at the site
    assert window.config.window_to == to_utc(datetime(2026, 5, 15, 12), "Europe/Berlin")
    assert side("2026-05-01T00:00+00:00..2026-05-02", here).config.window_from == to_utc(datetime(2026, 5, 1), "UTC")
    assert side(str(there), here).config.cluster == "beta"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("2026-05-01..banana", "no window"),
        ("2026-05-01", "no window"),
        ("2026-05-01..2026-05-02..2026-05-03", "no window"),
        ("nowhere", "no window"),
        ("2026-05-15..2026-05-01", "ends before it begins"),
        ("2026-05-15..2026-05-15", "ends before it begins"),
    ],
)
def test_what_is_neither_is_one_line(tmp_path: Path, asked: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        side(asked, folder(tmp_path / "here"))


def test_a_folder_without_settings_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no audit\.toml"):
        side(DAYS, tmp_path)


def test_b_is_reckoned_with_the_prices_and_the_policy_of_a(tmp_path: Path) -> None:
    a = side(str(folder(tmp_path / "a")), tmp_path)
    same = side(str(folder(tmp_path / "b")), tmp_path)
    card, floor = ('# a100 = "A100-80GB"', 'a100 = "A100-80GB"'), ("coverage_floor = 0.8", "coverage_floor = 0.5")
    other = side(str(folder(tmp_path / "c", card, floor)), tmp_path)
    assert alike(a, same)[1] == []
    reckoned, told = alike(a, other)
    assert (reckoned.config.prices, reckoned.config.policy) == (a.config.prices, a.config.policy)
    assert reckoned.config.cluster == other.config.cluster
    assert len(told) == 2


def test_a_price_book_counts_by_what_is_in_it(tmp_path: Path) -> None:
    sides = []
    for name, text in (("a", "[unbundled]\ncore_hour = 1\n"), ("b", "[unbundled]\ncore_hour = 1\n"), ("c", "")):
        root = folder(tmp_path / name, ('book = "list"', 'book = "own.toml"'))
        (root / "own.toml").write_text(text)
        sides.append(side(str(root), tmp_path))
    a, same, other = sides
    assert alike(a, same)[1] == []
    assert len(alike(a, other)[1]) == 1


@pytest.fixture(scope="module")
def fortnight(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two weeks of a generated cluster."""
    root = tmp_path_factory.mktemp("fortnight") / "sample"
    made = generate(root / "evidence", root / "truth", jobs=1500, gpus=20, days=14, seed=3)
    text = config_text(
        cluster=made.cluster,
        timezone=made.timezone,
        window_from=made.window_from.isoformat(),
        window_to=made.window_to.isoformat(),
        accelerators=ACCELERATORS,
    )
    workspace = create_workspace(root, text)
    assert [r.error for r in ingest(workspace, [], options=Options(generated=True)) if r.error] == []
    return workspace


def reported(workspace: Workspace) -> dict[str, Any]:
    with open_store(workspace) as store:
        return figures(store.connection, workspace)


def values(found: dict[str, Any], of: str) -> dict[str, float | None]:
    return {row["figure"]: row[of] for row in found["figures"]}


def test_two_halves_add_up_to_the_whole(fortnight: Workspace) -> None:
    config = fortnight.config
    assert config.window_from and config.window_to
    middle = config.window_from + (config.window_to - config.window_from) / 2
    halves = [replace(config, window_to=middle), replace(config, window_from=middle)]
    first, second = (reported(Workspace(fortnight.root, half)) for half in halves)
    whole = reported(fortnight)
    found = comparison(first, second)
    assert found["dollars_per"] == "month"
    assert found["notes"] == []
    both = comparison(whole, whole)
    rates = {
        k: v
        for k, v in values(both, "a").items()
        if k.endswith("_usd") or k.startswith(("recoverable_by", "hours.held"))
    }
    for key, rate in rates.items():  # halves of one length: the mean of their rates is the rate of the whole
        halved = [values(found, side)[key] for side in "ab"]
        expected = None if rate is None else pytest.approx(rate, abs=0.01)
        assert (None if rate is None else sum(filter(None, halved)) / 2) == expected, key
        assert (None in halved) == (rate is None)
    assert values(both, "change") == {key: None if v is None else 0 for key, v in values(both, "a").items()}


def small(window: tuple[float, float], *, sized: bool = True, cores: float = 2) -> dict[str, Any]:
    """A node of 10 cores at $10 an hour; a job holds some of them from hour 0 on."""
    cluster = Cluster(window=window)
    cluster.prices = replace(cluster.prices, classes={"cpu-10c-100GiB": 10.0})
    if sized:
        cluster.node("n1")
    cluster.job("1", 0, 400, cores=cores, user_name="u", account="a", job_name="x")
    return cluster.report()


def test_short_windows_are_compared_by_the_hour() -> None:
    found = comparison(small((0, 10)), small((10, 30), cores=5))
    assert found["dollars_per"] == "hour"
    held = next(row for row in found["figures"] if row["figure"] == "cost.held_usd")
    # A fifth of a node at $10, then half of it, whatever the length of the window.
    assert held == {
        "figure": "cost.held_usd", "label": "held", "unit": "usd_per_hour", "a": 2.0, "b": 5.0, "change": 3.0,
        "change_share": 1.5, "a_reason": None, "b_reason": None,
    }  # fmt: skip
    assert values(found, "a")["hours.held.core"] == 2.0
    assert values(found, "b")["attempts"] == 1.2  # one in 20 hours


def test_a_week_and_a_day_have_no_month_in_common() -> None:
    week, day = small((0, 168)), small((0, 24))
    assert comparison(week, week)["dollars_per"] == "month"
    assert comparison(week, day)["dollars_per"] == "hour"


def test_what_was_not_measured_has_no_change_and_a_reason() -> None:
    found = comparison(small((0, 10)), small((0, 10), sized=False))
    rows = {row["figure"]: row for row in found["figures"]}
    installed, down, gpu = rows["cost.installed_usd"], rows["cost.down_usd"], rows["hours.held.gpu"]
    assert (installed["a"], installed["b"], installed["change"], installed["change_share"]) == (10.0, None, None, None)
    assert installed["b_reason"] and installed["a_reason"] is None
    assert (down["a"], down["b"]) == (None, None)
    assert (gpu["a"], gpu["b"], gpu["change"], gpu["change_share"]) == (0.0, 0.0, 0.0, None)  # no share of nothing
    assert rows["recoverable.high_usd"]["a_reason"]
    assert rows["recoverable_by_resource.gpus"]["a"] is None  # nothing at all was measured
    shown = {row["figure"]: row for row in comparison_table(found)}
    texts = [text.strip() for text in shown["installed"].values()]
    assert texts == ["installed", "10.00", "not measured", "no basis", "no basis"]
    foot = comparison_lines(found)[1]
    assert any(line.startswith("B, ") and "installed" in line for line in foot)


def test_what_is_expected_is_compared_where_a_model_was_replayed(
    report: dict[str, Any], advised_report: dict[str, Any]
) -> None:
    assert not any("expected" in key for key in values(comparison(report, report), "a"))
    found = comparison(report, advised_report)
    rows = {row["figure"]: row for row in found["figures"]}
    expected, killed = rows["recoverable.expected_usd"], rows["recoverable.kills.share"]
    won = advised_report["recoverable"]
    assert (expected["a"], expected["b"]) == (None, pytest.approx(won["expected_usd_per_month"]))
    assert (expected["change"], expected["change_share"]) == (None, None)
    assert "no model" in expected["a_reason"]
    assert killed["b"] == pytest.approx(won["kills"]["killed"] / won["kills"]["of"]) and killed["a"] is None
    assert rows["recoverable.high_usd"]["change"] == 0  # the ceiling is of no model
    order = [row["figure"] for row in found["figures"]]
    assert order.index("recoverable.high_usd") + 1 == order.index("recoverable_by_resource.gpus")


def test_what_bends_a_comparison_is_noted() -> None:
    first, second = small((0, 10)), small((5, 15))
    unmeasured = ["no headline" in note for note in comparison(first, small((10, 20)))["notes"]]
    assert unmeasured == [True, True]
    assert len(comparison(first, second)["notes"]) == len(unmeasured) + 1
    assert len(comparison(first, {**second, "cluster": "other"})["notes"]) == len(unmeasured) + 1
    assert any(
        "GENERATED" in line for line in comparison_lines(comparison({**first, "generated_sample": True}, second))[0]
    )
