"""What must hold of any cluster: money and hours add up, and agree with a reckoning hour by hour."""

from collections import Counter
from datetime import UTC

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.accounting.cluster import DAY
from tests.accounting.hour_by_hour import (
    HOURS,
    NODES,
    USD,
    WATCHED,
    attempts,
    cluster_of,
    in_advance,
    needs,
    outages,
    reckon,
)

HELD = ("used_usd", "kept_usd", "lost_usd", "not_measured_usd")


def hours_of(cluster, relation, plan="high"):
    """Recoverable dollars of a relation by hour of the window, and by node where it has nodes."""
    first, found = int(DAY.replace(tzinfo=UTC).timestamp()) // 3600, Counter()
    nodes = {row["node_no"]: row["node"] for row in cluster.relation("node_span")}
    for row in cluster.relation(relation):
        if row["plan"] == plan:
            hour = row["hour"] - first
            found[(nodes[row["node_no"]], hour) if "node_no" in row else hour] += row["recoverable_usd"]
    return {place: usd for place, usd in found.items() if usd > 1e-6}


def approximately(counter):
    return pytest.approx({place: usd for place, usd in counter.items() if usd > 1e-6}, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(attempts, outages, st.integers(1, HOURS - 1))
def test_adjacent_windows_add_up_to_their_union(given_attempts, given_outages, middle):
    windows = [(0, middle), (middle, HOURS), (0, HOURS)]
    first, second, both = (cluster_of(given_attempts, given_outages, window).report() for window in windows)
    for key in ("installed_usd", "down_usd", "held_usd", "idle_usd", *HELD):
        parts = [report["cost"][key] or 0 for report in (first, second)]  # NULL: nothing there was measured
        assert sum(parts) == pytest.approx(both["cost"][key] or 0, abs=1e-6)
    parts = [report["recoverable"]["high_usd"] or 0 for report in (first, second)]
    assert sum(parts) == pytest.approx(both["recoverable"]["high_usd"] or 0, abs=1e-6)
    for kind in ("installed", "down", "held"):
        for key, hours in both["hours"][kind].items():
            assert first["hours"][kind][key] + second["hours"][kind][key] == pytest.approx(hours, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(attempts, outages)
def test_money_agrees_with_a_reckoning_by_hour_and_everything_adds_up(given_attempts, given_outages):
    cluster = cluster_of(given_attempts, given_outages)
    report = cluster.report()
    cost, won, _, by_hour, down = reckon(given_attempts, given_outages)
    found = {r["job_id_raw"]: r for r in cluster.relation("attempt", "job_id_raw")}
    for number, attempt in enumerate(given_attempts):
        row = found.get(str(number))
        if row is None:
            continue
        assert row["usd"] == pytest.approx(cost[number], abs=1e-6)
        assert row["recoverable_usd"] == pytest.approx(won[number], abs=1e-6)
        assert row["recoverable_usd"] <= row["usd"] + 1e-6
        buckets = [row[key] for key in (*HELD, "recoverable_usd")]
        assert min(buckets) >= -1e-6
        assert sum(buckets) == pytest.approx(row["usd"], abs=1e-6)
        if attempt.failed:
            assert row["lost_usd"] == row["usd"]
        elif needs(attempt, "n1") == needs(attempt, "n2") == [None] * 3:
            assert row["recoverable_usd"] == 0
    money = report["cost"]
    high = report["recoverable"]["high_usd"] or 0
    assert money["held_usd"] == pytest.approx(sum(cost.values()), abs=1e-6)
    assert money["down_usd"] == pytest.approx(down, abs=1e-6)
    assert money["held_usd"] + money["idle_usd"] + money["down_usd"] == pytest.approx(money["installed_usd"])
    assert money["installed_usd"] == pytest.approx(HOURS * sum(USD.values()))
    assert money["idle_usd"] >= -1e-6
    assert sum(money[key] or 0 for key in HELD) + high == pytest.approx(money["held_usd"], abs=1e-6)
    nodes = cluster.relation("node_hours", "node")
    assert sum(n["held_hours"] * n["usd_per_hour"] for n in nodes) == pytest.approx(money["held_usd"], abs=1e-6)
    assert sum(n["recoverable_hours"] * n["usd_per_hour"] for n in nodes) == pytest.approx(high, abs=1e-6)
    assert sum(r["usd"] for r in report["recoverable_by_resource"]) == pytest.approx(high, abs=1e-6)
    assert hours_of(cluster, "hourly_won") == approximately(by_hour)
    in_hour = Counter()
    for (_, hour), usd in by_hour.items():
        in_hour[hour] += usd
    assert hours_of(cluster, "partition_hour") == approximately(in_hour)
    slots = report["by_hour_of_week"]
    assert sum(s["held_usd"] for s in slots) == pytest.approx(money["held_usd"], abs=1e-6)
    assert sum(s["installed_usd"] for s in slots) == pytest.approx(money["installed_usd"])


@settings(max_examples=40, deadline=None)
@given(attempts)
def test_advice_in_advance_agrees_with_the_same_reckoning_and_never_wins_more_than_hindsight(given_attempts):
    cluster = cluster_of(given_attempts, [], advised=True)
    found = cluster.report()["recoverable"]
    hindsight, by_plan = reckon(given_attempts, []), {r["plan"]: r for r in cluster.relation("plan")}
    assert set(by_plan) == {"expected", "low", "0.9", "0.95", "0.995"}
    rows = {(r["plan"], r["job_id_raw"]): r for r in cluster.relation("won")}
    plans = {"expected": in_advance("expected"), "low": in_advance("low", WATCHED), "0.995": in_advance("low")}
    for plan, keep in plans.items():
        true = reckon(given_attempts, [], keep)
        for number, attempt in enumerate(given_attempts):
            row = rows.get((plan, str(number)), dict.fromkeys(("gpu_usd", "mem_usd", "core_usd", "reruns_usd"), 0))
            gross = row["gpu_usd"] + row["mem_usd"] + row["core_usd"]
            assert gross == pytest.approx(true.won[number], abs=1e-6)
            assert row["reruns_usd"] == pytest.approx(true.again[number], abs=1e-6)
            assert row["reruns_usd"] <= true.cost[number] + 1e-6
            if any(keep(attempt, node)[1] for node in NODES if node in attempt.nodes.split(",")):
                assert gross == 0
        for place, usd in true.by_hour.items():
            assert usd <= hindsight.by_hour[place] + 1e-6
        assert sum(true.won.values()) <= sum(hindsight.won.values()) + 1e-6
        if plan == "expected" and found["expected_usd"] is not None:
            assert hours_of(cluster, "hourly_won", "expected") == approximately(true.by_hour)
            check_sums(cluster, found, true)
    free = {(r["plan"], r["node_no"], r["at_s"]): r["free"] for r in cluster.relation("needed")}
    assert all(part <= free.get(("high", *place), 0) + 1e-8 for (_, *place), part in free.items())


def check_sums(cluster, found, true):
    """Every sum of what is expected comes to the same."""
    gross, reruns = sum(true.won.values()), sum(true.again.values())
    assert found["expected_gross_usd"] == pytest.approx(gross, abs=1e-6)
    assert found["reruns_usd"] == pytest.approx(reruns, abs=1e-6)
    report, net = cluster.report(), pytest.approx(gross - reruns, abs=1e-6)
    lists = (report["families"], report["recoverable_by_resource"], found["by_class"])
    for rows in lists:
        assert sum(row["expected_usd"] for row in rows) == net
    assert sum(row["expected_usd"] for row in cluster.relation("recoverable_day")) == net
    hours = (r["recoverable_usd"] for r in cluster.relation("partition_hour") if r["plan"] == "expected")
    assert sum(hours) == pytest.approx(gross, abs=1e-6)
    assert sum(row["killed"] for row in report["families"]) == found["kills"]["killed"]
    kills, by_resource = found["kills"], {row["resource"]: row for row in report["recoverable_by_resource"]}
    assert max(kills["by_memory"], kills["by_gpus"]) <= kills["killed"]
    for name in ("memory", "gpus"):
        row = by_resource.get(name, {"killed": 0, "of": 0})
        assert (row["killed"], row["of"]) == (kills[f"by_{name}"], kills[f"of_{name}"])
        assert row["killed"] <= row["of"] <= kills["of"]
    assert kills["of"] <= sum(row["of"] for row in by_resource.values())
    assert all(row["expected_usd"] is None or row["expected_usd"] > 0 for row in report["actions"])
    assert found["kills"]["killed"] + found["slowed"]["slowed"] <= found["kills"]["of"] <= len(cluster.rows["job"])
    assert [row["net_usd"] for row in found["sensitivity"] if row["quantile"] == 0.99] == [net]
