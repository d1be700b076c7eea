"""The generated month is one a real cluster could have had."""

import filecmp
import gzip
import json
from base64 import b64decode

import polars as pl
import pytest

from audit.errors import UsageError
from audit.sample import generate
from tests.sample.dump import Month, hosts, size_bytes


def _over_time(held: pl.DataFrame, what: str) -> pl.DataFrame:
    """What is held on each node after each start and end, ends before starts at one moment."""
    starts = held.select("node", at="Start", change=pl.col(what))
    ends = held.select("node", at="End", change=-pl.col(what))
    moments = pl.concat([ends, starts]).group_by("node", "at").agg(pl.col("change").sum()).sort("node", "at")
    return moments.with_columns(held=pl.col("change").cum_sum().over("node"))


def _overlapping(month: Month, states: list[str]) -> pl.DataFrame:
    spells = month.events.filter(pl.col("State").is_in(states))
    both = month.held.join(spells, on="node")
    return both.filter((pl.col("Start") < pl.col("up")) & (pl.col("End") > pl.col("down")))


# -- the text ---------------------------------------------------------------------------------------


def test_every_record_has_the_fields_of_the_header(month):
    assert len(month.header) == 32
    assert (month.header[0], month.header[-1]) == ("JobID", "JobName")
    assert {len(row) for row in month.rows} == {32}


def test_one_file_a_day_holds_the_attempts_that_ended_on_it(month):
    names = sorted(path.name for path in month.evidence.glob("sacct-*"))
    assert names == [f"sacct-2026-05-{day:02d}.txt" for day in range(1, 31)]
    second_day = (month.evidence / "sacct-2026-05-02.txt").read_text(encoding="utf-8").splitlines()[1:]
    ends = {int(line.split("\x1f")[11]) for line in second_day if "." not in line.split("\x1f")[1]}
    midnight = 1777698000  # 2026-05-02 00:00 in Chicago
    assert midnight <= min(ends)
    assert max(ends) < midnight + 86400


def test_an_attempt_appears_once(month):
    assert month.jobs.select("JobIDRaw", "Submit").is_duplicated().sum() == 0
    assert month.jobs["DBIndex"].is_duplicated().sum() == 0


def test_job_rows_carry_no_usage_and_step_rows_no_request(month):
    empty_on_jobs = ["NTasks", "MaxRSS", "AveRSS", "TRESUsageInTot"]
    empty_on_steps = ["User", "Partition", "QOS", "TimelimitRaw", "ReqMem", "ReqTRES", "DerivedExitCode"]
    for frame, columns in ((month.jobs, empty_on_jobs), (month.steps, empty_on_steps)):
        assert frame.select(pl.col(columns).ne("").any()).row(0) == (False,) * len(columns)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d+$",
        r"^\d+_\d+$",
        r"^\d+\+[01]$",
        r"^\d+_\[[\d,-]+\]$",
        r"^\d+_\[[\d,-]+%\d+\]$",
        r"^\d+_\d+\.batch$",
        r"^\d+\.extern$",
        r"^\d+\.interactive$",
        r"^\d+\.2$",
        r"^\d+\+1\.0$",
    ],
)
def test_every_form_of_job_id_is_there(month, sampled, pattern):
    assert any(made.sacct["JobID"].str.contains(pattern).any() for made in (month, sampled))


def test_of_an_array_that_has_started_one_task_keeps_its_id(month):
    tasks = month.jobs.filter(pl.col("JobID").str.contains(r"^\d+_")).with_columns(
        parent=pl.col("JobID").str.extract(r"^(\d+)_")
    )
    keepers = tasks.filter(pl.col("JobIDRaw") == pl.col("parent")).unique(["parent", "JobIDRaw"])
    assert keepers["parent"].is_duplicated().sum() == 0
    assert len(keepers) > 50


def test_the_second_component_of_a_heterogeneous_job_has_the_next_id_and_the_same_times(month):
    first = month.jobs.filter(pl.col("JobID").str.ends_with("+0")).with_columns(
        next_id=pl.col("JobIDRaw").cast(int) + 1
    )
    second = month.jobs.filter(pl.col("JobID").str.ends_with("+1")).with_columns(pl.col("JobIDRaw").cast(int))
    both = first.join(second, left_on=["next_id", "Submit"], right_on=["JobIDRaw", "Submit"])
    assert len(both) == len(first) == len(second) > 0
    assert both.filter(pl.col("Start").ne_missing(pl.col("Start_right"))).is_empty()
    assert not month.steps["JobID"].str.contains("+1.batch", literal=True).any()


def test_a_requeued_job_is_a_second_record_with_a_later_submission(month):
    groups = month.jobs.filter(pl.col("JobID").is_duplicated()).sort("JobID", "Submit")
    cut_short = groups.filter(pl.col("state").is_in(["REQUEUED", "PREEMPTED"]))
    assert {"REQUEUED", "PREEMPTED"} <= set(cut_short["state"])
    again = groups.with_columns(next_submit=pl.col("Submit").shift(-1).over("JobID"))
    again = again.filter(pl.col("state") == "REQUEUED", pl.col("next_submit").is_not_null())
    assert (again["next_submit"] - again["End"]).unique().to_list() == [1]


def test_what_has_not_happened_yet_is_said_so(month):
    pending, running = (month.jobs.filter(pl.col("state") == state) for state in ("PENDING", "RUNNING"))
    withdrawn = month.jobs.filter(pl.col("state") == "CANCELLED", pl.col("Start").is_null())
    assert set(pending["start_text"]) == {"Unknown"}
    assert set(pending["NodeList"]) == {"None assigned"}
    assert set(pending["AllocTRES"]) == {""}
    assert set(withdrawn["start_text"]) == {"None"}
    assert withdrawn["End"].null_count() == 0
    assert running["End"].null_count() == len(running) > 0
    usage = month.steps.filter(pl.col("state") == "RUNNING")
    assert set(usage["MaxRSS"]) == {""}
    assert set(usage["TotalCPU"]) == {"00:00:00"}


# -- the schedule -----------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["cores", "mem", "gpus"])
def test_nothing_is_ever_held_beyond_a_nodes_size(month, what):
    over = _over_time(month.held, what).join(month.nodes, on="node")
    assert over["held"].min() == 0
    assert over.filter(pl.col("held") > pl.col(f"size_{what}")).is_empty()
    assert len(over) > 10_000


def test_no_attempt_runs_on_a_node_that_is_down_or_in_maintenance(month):
    assert {"DOWN*", "MAINT", "DRAIN"} <= set(month.events["State"])
    assert _overlapping(month, ["DOWN*", "MAINT"]).is_empty()


def test_a_draining_node_keeps_its_jobs_and_takes_no_new_ones(month):
    on_draining = _overlapping(month, ["DRAIN"])
    assert len(on_draining) > 0
    assert on_draining.filter(pl.col("Start") > pl.col("down")).is_empty()


def test_a_node_failure_is_an_event_of_one_of_the_attempts_nodes(month):
    # a heterogeneous job ends with the node of its other component
    alone = ~pl.col("JobID").str.contains("+", literal=True)
    failed = month.held.filter(pl.col("state") == "NODE_FAIL", alone)
    at_event = failed.join(month.events.filter(pl.col("State") == "DOWN*"), on="node").filter(
        pl.col("End") == pl.col("down")
    )
    attempts = failed.select("JobIDRaw", "Submit").unique()
    assert len(attempts.join(at_event, on=["JobIDRaw", "Submit"], how="anti")) == 0
    assert len(attempts) > 0


def test_jobs_wait_in_a_queue(month):
    ran = month.jobs.filter(pl.col("Start").is_not_null())
    assert ran.filter((pl.col("Eligible") < pl.col("Submit")) | (pl.col("Start") < pl.col("Eligible"))).is_empty()
    waited_s = ran["Start"] - ran["Eligible"]
    assert (waited_s > 600).mean() > 0.1
    assert (waited_s == 0).mean() > 0.1


def test_a_card_is_held_by_one_attempt_at_a_time(month):
    held = month.held.filter(pl.col("AdminComment").str.len_chars() > 20).unique(["JobIDRaw", "Submit"])
    cards = [
        (node, card, start, end)
        for comment, start, end in held.select("AdminComment", "Start", "End").iter_rows()
        for node, use in _summary(comment)["nodes"].items()
        for card in use["gpu_total_memory"]
    ]
    frame = pl.DataFrame(cards, schema=["node", "card", "start", "end"], orient="row").sort("node", "card", "start")
    before = pl.col("end").shift(1).over("node", "card")
    assert frame.filter(pl.col("start") < before).is_empty()


# -- likeness to real clusters ----------------------------------------------------------------------


def test_the_parts_of_states_are_those_of_real_clusters(month):
    shares = dict(month.jobs["state"].value_counts(normalize=True).iter_rows())
    assert 0.55 < shares["COMPLETED"] < 0.85
    assert 0.08 < shares["FAILED"] + shares["OUT_OF_MEMORY"] + shares["TIMEOUT"] < 0.3
    assert all(shares[state] > 0 for state in ("CANCELLED", "NODE_FAIL", "PREEMPTED", "REQUEUED"))


def test_requests_are_two_to_three_times_the_need(month):
    over_mem = month.known["asked_bytes"] / month.known["mem_peak_bytes"]
    done = month.known.filter(pl.col("state") == "COMPLETED", pl.col("run_s") > 600)
    over_time = done["TimelimitRaw"].cast(int) * 60 / done["run_s"]
    assert 2 < over_mem.median() < 3
    assert 2 < over_time.median() < 3


def test_gpus_are_held_most_of_the_time_and_idle_for_a_third_of_it(month):
    window = month.summary.window_from.timestamp(), month.summary.window_to.timestamp()
    hours = (pl.col("End").clip(*window) - pl.col("Start").clip(*window)) * pl.col("gpus")
    assert 0.75 < month.held.select(hours.sum()).item() / (month.summary.gpus * (window[1] - window[0])) < 0.92
    per_job = month.held.with_columns(time=hours).group_by("JobIDRaw", "Submit").agg(pl.col("time").sum())
    known = month.known.filter(pl.col("gpus") > 0).join(per_job, on=["JobIDRaw", "Submit"])
    busy = known["time"] * (1 - known["gpu_idle_share"]) * known["gpus_used"] / known["gpus"]
    assert 0.25 < 1 - busy.sum() / known["time"].sum() < 0.42


def test_run_times_have_a_median_of_minutes_and_a_mean_of_hours(month):
    ran = month.jobs.filter(pl.col("gpus") > 0)["ElapsedRaw"]
    assert 60 < ran.median() < 900
    assert 3600 < ran.mean() < 4 * 3600


def test_people_submit_by_day_on_weekdays_and_a_few_of_them_most(month):
    local = pl.from_epoch("Submit").dt.replace_time_zone("UTC").dt.convert_time_zone("America/Chicago")
    when = month.jobs.select(hour=local.dt.hour(), day=local.dt.weekday())
    office, night = (when.filter(pl.col("hour").is_between(*hours)).height for hours in ((10, 16), (0, 6)))
    assert office > 2 * night
    assert when.filter(pl.col("day") <= 5).height / 21 > 1.2 * when.filter(pl.col("day") > 5).height / 9
    users = month.jobs["User"].value_counts(sort=True)["count"]
    assert users.head(len(users) // 10).sum() > 0.25 * users.sum()


def test_the_cluster_is_the_one_asked_for(month):
    assert month.nodes["size_gpus"].sum() == month.summary.gpus == 100
    assert month.nodes["partitions"].str.contains(",").any()
    assert (month.nodes["size_gpus"] == 0).sum() == 20


# -- the truth --------------------------------------------------------------------------------------


def _recorded_peaks(month: Month) -> pl.DataFrame:
    """What accounting says each attempt came to: what ran beside the steps, and the largest step."""
    beside = pl.col("step").is_in(["batch", "extern", "interactive"])
    return (
        month.steps.join(
            month.jobs.select("DBIndex", "Submit", job_elapsed_s="ElapsedRaw"), on="DBIndex", suffix="_job"
        )
        .group_by("raw", pl.col("Submit_job").alias("Submit"), "job_elapsed_s")
        .agg(
            recorded=pl.col("total_bytes").filter(beside).sum()
            + pl.col("total_bytes").filter(~beside).max().fill_null(0),
            seen=pl.col("total_bytes").is_not_null().any(),
        )
    )


def test_recorded_peaks_are_the_true_ones(month):
    peaks = _recorded_peaks(month).filter(pl.col("seen"), pl.col("job_elapsed_s") >= 3)
    both = peaks.join(month.truth, left_on=["raw", "Submit"], right_on=["job_id_raw", "submit"])
    assert len(both) > 15_000
    assert both.filter(pl.col("recorded") != pl.col("mem_reached_bytes")).is_empty()
    completed = both.filter(pl.col("state") == "COMPLETED")
    assert completed.filter(pl.col("recorded") != pl.col("mem_peak_bytes")).is_empty()


def test_max_rss_is_the_largest_task_and_ave_rss_the_mean(month):
    steps = month.steps.filter(pl.col("total_bytes") > 0).with_columns(
        largest=pl.col("MaxRSS").map_elements(size_bytes, return_dtype=pl.Int64),
        mean=pl.col("AveRSS").map_elements(size_bytes, return_dtype=pl.Int64),
        tasks=pl.col("NTasks").cast(pl.Int64),
    )
    assert steps.filter(pl.col("mean") != pl.col("total_bytes") // pl.col("tasks")).is_empty()
    assert steps.filter((pl.col("largest") < pl.col("mean")) | (pl.col("largest") > pl.col("total_bytes"))).is_empty()
    assert steps.filter(pl.col("largest") > 1.3 * pl.col("mean")).height > 100


def test_out_of_memory_means_the_need_is_above_the_request(month):
    fate = month.known.filter(pl.col("Start").is_not_null()).with_columns(
        lacking=pl.col("mem_peak_bytes") > pl.col("asked_bytes")
    )
    assert fate.filter(pl.col("state").is_in(["OUT_OF_MEMORY"]))["lacking"].all()
    assert not fate.filter(pl.col("state") == "COMPLETED")["lacking"].any()
    assert fate.filter(pl.col("mem_reached_bytes") > pl.col("asked_bytes")).is_empty()


def test_most_users_try_again_with_more_memory(month):
    oom = month.known.filter(pl.col("state") == "OUT_OF_MEMORY")
    later = month.jobs.select("User", "JobName", again="Submit", more="asked_bytes")
    tried = oom.join(later, on=["User", "JobName"]).filter(
        (pl.col("again") >= pl.col("End")) & (pl.col("more") > pl.col("asked_bytes"))
    )
    assert tried.unique(["JobIDRaw", "Submit"]).height / oom.height > 0.5


def test_timed_out_attempts_stop_within_half_a_minute_of_their_limit(month):
    late = month.known.filter(pl.col("state") == "TIMEOUT")
    over_s = late["ElapsedRaw"] - late["TimelimitRaw"].cast(int) * 60
    assert over_s.min() >= 0
    assert over_s.max() < 30
    assert (late["run_s"] >= late["TimelimitRaw"].cast(int) * 60).all()


def _summary(comment: str) -> dict:
    return json.loads(gzip.decompress(b64decode(comment.removeprefix("JS1:"))))


def test_jobstats_summaries_say_what_the_truth_says(month):
    told = month.known.filter(pl.col("AdminComment").str.len_chars() > 20)
    assert len(told) > 5000
    for row in told.gather_every(37).iter_rows(named=True):
        summary = _summary(row["AdminComment"])
        nodes = summary["nodes"]
        assert list(nodes) == hosts(row["NodeList"])
        assert summary["total_time"] == row["ElapsedRaw"]
        assert sum(use["total_memory"] for use in nodes.values()) == row["asked_bytes"]
        assert sum(use["used_memory"] for use in nodes.values()) == row["mem_reached_bytes"]
        busy = [util for use in nodes.values() for util in use["gpu_utilization"].values()]
        assert len(busy) == summary["gpus"] == row["gpus"]
        assert sum(util > 0 for util in busy) == row["gpus_used"]
        peak = max(used for use in nodes.values() for used in use["gpu_used_memory"].values())
        assert peak == row["vram_peak_bytes"]


def test_short_attempts_have_no_summary(month):
    on_gpus = month.jobs.filter(pl.col("gpus") > 0, pl.col("state") == "COMPLETED")
    short = pl.col("AdminComment") == "JS1:Short"
    assert on_gpus.filter(short != (pl.col("ElapsedRaw") < 60)).is_empty()
    assert 0 < on_gpus.filter(pl.col("AdminComment") == "JS1:None").height < 0.03 * on_gpus.height
    assert set(month.jobs.filter(pl.col("gpus") == 0)["AdminComment"]) == {""}


def test_a_sampler_misses_short_peaks_and_short_attempts(sampled):
    peaks = _recorded_peaks(sampled)
    both = peaks.join(sampled.truth, left_on=["raw", "Submit"], right_on=["job_id_raw", "submit"])
    assert not both.filter(pl.col("job_elapsed_s") < 120)["seen"].any()
    seen = both.filter(pl.col("seen"))
    assert seen.filter(pl.col("recorded") > pl.col("mem_reached_bytes")).is_empty()
    assert 0.05 < (seen["recorded"] < 0.9 * seen["mem_reached_bytes"]).mean() < 0.6


# -- the arguments ----------------------------------------------------------------------------------


def test_the_same_arguments_give_the_same_bytes_and_another_seed_others(tmp_path):
    size = {"jobs": 1500, "gpus": 24, "days": 5}
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        generate(tmp_path / name / "evidence", tmp_path / name / "truth", seed=seed, **size)
    files = [path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*")]
    same = [filecmp.cmp(tmp_path / "a" / file, tmp_path / "b" / file, shallow=False) for file in files]
    assert all(same)
    assert len(same) == 5 + 2 + 1
    other = tmp_path / "c" / "evidence" / "sacct-2026-05-02.txt"
    assert not filecmp.cmp(tmp_path / "a" / "evidence" / "sacct-2026-05-02.txt", other, shallow=False)


@pytest.mark.parametrize(("jobs", "gpus", "days"), [(60, 1, 1), (400, 7, 2), (900, 33, 3)])
def test_small_clusters_can_be_had(tmp_path, jobs, gpus, days):
    summary = generate(tmp_path / "evidence", tmp_path / "truth", jobs=jobs, gpus=gpus, days=days)
    assert summary.gpus == gpus
    assert (summary.window_to - summary.window_from).days == days
    assert summary.attempts > 0


def test_a_cluster_without_gpus_is_refused(tmp_path):
    with pytest.raises(UsageError, match="at least 1 GPU"):
        generate(tmp_path / "evidence", tmp_path / "truth", gpus=0)
