"""The report's figures as a whole: coverage, gaps, months, reasons, and when there is no report at all."""

import json

import pytest

from audit.accounting import definitions, figures
from audit.errors import ExitCode, NoReportError
from audit.workspace import Policy, Prices
from tests.accounting.cluster import GIB, Cluster, at

TEN_DOLLARS = Prices(classes={"4xT4": 10.0, "cpu-10c-100GiB": 10.0})


def test_coverage_is_the_share_of_held_dollars_whose_binding_resource_was_measured():
    # Attempt 1 is charged 40 through memory, which was measured; 2 is charged 20 through its cores, which
    # were not, though its memory was; 3 failed: 20 through memory, measured, and lost.
    cluster = Cluster(prices=TEN_DOLLARS, policy=Policy(coverage_floor=0.7))
    cluster.node("n1")
    cluster.job("1", 0, 4, mem_gib=100)
    cluster.job("2", 4, 6, cores=10, mem_gib=50)
    cluster.job("3", 6, 8, mem_gib=100, state="FAILED")
    for job_id, start, end in [("1", 0, 4), ("2", 4, 6), ("3", 6, 8)]:
        cluster.step(job_id, "batch", start, end, submit=start, rss_bytes=5 * GIB)
    report = cluster.report()
    assert report["coverage"]["usd"] == pytest.approx(60 / 80)
    assert report["coverage"]["jobs"] == pytest.approx(2 / 3)
    assert (report["coverage"]["mem_hours"], report["coverage"]["core_hours"]) == (1, 0)
    assert report["coverage"]["gpu_hours"] is None
    assert (report["cost"]["lost_usd"], report["cost"]["not_measured_usd"]) == pytest.approx((20, 20))
    assert report["coverage"]["headline_allowed"]


def test_below_the_coverage_floor_there_is_no_headline_and_the_report_says_why():
    cluster = Cluster()
    cluster.node("n1")
    cluster.job("1", 0, 4)
    coverage = cluster.report()["coverage"]
    assert (coverage["usd"], coverage["headline_allowed"]) == (0, False)
    assert "0.0% of held dollars" in coverage["reason"]


@pytest.mark.parametrize("hours, per_month", [(167, None), (168, 730 / 168)])
def test_a_month_is_730_hours_and_only_told_of_a_week_or_more(hours, per_month):
    cluster = Cluster(window=(0, hours), prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, hours, cores=10)
    cost = cluster.report()["cost"]
    assert cost["held_usd"] == pytest.approx(10 * hours)
    month = cost["held_usd_per_month"]
    assert month is None if per_month is None else month == pytest.approx(10 * hours * per_month)


def test_days_without_any_accounting_row_are_a_gap_and_not_idleness():
    # Five days; jobs on the first and the last, nothing on the three between.
    cluster = Cluster(window=(0, 120), prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, 24 - 0.5, cores=10)
    cluster.job("2", 97, 100, cores=10)
    cluster.add("node_state", node="n1", from_time=at(200), to_time=at(201), state="DOWN", is_down=True)
    report = cluster.report()
    assert report["data_gaps"] == [{"from": "2026-05-05T00:00:00Z", "to": "2026-05-08T00:00:00Z"}]
    assert report["cost"]["installed_usd"] == pytest.approx(480)
    assert report["cost"]["idle_usd"] == pytest.approx(480 - 235 - 30)
    assert report["reasons"]["data_gaps"]


def test_silent_days_on_which_every_node_was_down_are_down_not_a_gap():
    cluster = Cluster(window=(0, 72), prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, 12)
    cluster.job("2", 60, 61)
    cluster.add("node_state", node="n1", from_time=at(12), to_time=at(60), state="DOWN", is_down=True)
    report = cluster.report()
    assert report["data_gaps"] == []
    assert report["cost"]["down_usd"] == pytest.approx(480)


def test_what_still_ran_when_the_evidence_ends_is_not_held_through_days_of_which_it_says_nothing():
    cluster = Cluster(window=(0, 96), prices=TEN_DOLLARS)
    cluster.node("n1")
    cluster.job("1", 0, None, cores=10, state="RUNNING")
    cluster.job("2", 30, 31, mem_gib=1)
    report = cluster.report()
    assert report["data_gaps"] == [{"from": "2026-05-06T00:00:00Z", "to": "2026-05-08T00:00:00Z"}]
    assert report["cost"]["held_usd"] == pytest.approx(480)


def test_no_attempt_in_the_window_is_no_report_and_says_where_the_evidence_lies():
    cluster = Cluster(window=(100, 110))
    cluster.node("n1")
    cluster.job("1", 0, 4)
    with pytest.raises(NoReportError, match="2026-05-04 00:00 to 2026-05-04 04:00") as caught:
        cluster.report()
    assert caught.value.exit_code == ExitCode.NO_REPORT
    assert "[window]" in str(caught.value)


def test_no_evidence_is_no_report():
    with pytest.raises(NoReportError, match="audit ingest"):
        Cluster().report()


@pytest.mark.parametrize(
    "gres, message",
    [
        ("gpu:abacus=4", r'node class "4xabacus" has no price'),
        ("gpu:a100=4", r'\[prices.accelerators\] in audit.toml write "a100" = "A100"'),
    ],
)
def test_a_node_class_that_nobody_priced_is_no_report(gres, message):
    cluster = Cluster()
    cluster.node("n1", gpus=4, gres=gres)
    cluster.job("1", 0, 4)
    with pytest.raises(NoReportError, match=message):
        cluster.report()


def test_prices_name_class_range_source_and_number_of_nodes():
    cluster = Cluster(prices=Prices(classes={"cpu-10c-100GiB": 3.0}))
    cluster.node("n1", gpus=4)
    cluster.node("n2", gpus=4)
    cluster.node("n3")
    cluster.job("1", 0, 4)
    own, listed = sorted(cluster.report()["prices"], key=lambda p: p["node_class"], reverse=True)
    assert (own["node_class"], own["usd_per_hour"], own["low_usd_per_hour"]) == ("cpu-10c-100GiB", 3.0, None)
    assert own["source"].startswith("audit.toml")
    assert (listed["node_class"], listed["nodes"]) == ("4xT4", 2)
    assert listed["low_usd_per_hour"] <= listed["usd_per_hour"] <= listed["high_usd_per_hour"]


def test_the_report_is_plain_data_and_the_same_twice():
    cluster = Cluster()
    cluster.node("n1")
    cluster.job("<b>1</b>'; DROP TABLE job; --", 0, 4, partition='"\u202e<script>')
    cluster.rows["reject"] = [{"file_id": 1, "line": 3, "reason": "wrong number of fields", "text": "x"}]
    connection = cluster.connect()
    first, second = (json.dumps(figures(connection, cluster.workspace()), sort_keys=True) for _ in range(2))
    assert first == second
    assert connection.execute("SELECT count(*) FROM job").fetchone() == (1,)
    assert json.loads(first)["rejects"] == {
        "rows": 1,
        "by_reason": [{"reason": "wrong number of fields", "rows": 1}],
    }


def test_every_relation_states_its_definition():
    assert all(len(text) > 60 for text in definitions().values())
    assert "largest sum of shares" in definitions()["binding"]
