"""Whole dumps of real clusters, which are not ours to ship: skipped where they do not lie beside the checkout."""

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit.evidence import READERS, Context, EvidenceError, recognised

BESIDE = Path(__file__).resolve().parents[3] / "shared"
pytestmark = pytest.mark.skipif(not BESIDE.is_dir(), reason=f"no folder of real dumps at {BESIDE}")

LACKS = tomllib.loads((Path(__file__).parent / "fields_json_lacks.toml").read_text())
CCR = (
    "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,elapsed,exitcode,state,"
    "nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
).split(",")


def read(name: str, context: Context) -> dict[str, pl.DataFrame]:
    path = BESIDE / name
    if not path.exists():
        pytest.skip(f"no {path}")
    found: dict[str, list[pl.DataFrame]] = {}
    for batch in READERS[recognised(path)](path, context):
        for table, frame in batch.rows.items():
            found.setdefault(table, []).append(frame)
    return {table: pl.concat(frames) for table, frames in found.items()}


def test_a_university_centre_s_month() -> None:
    found = read("traces/xdmod_ccr/pozidriv.log.gz", Context("pozidriv", "America/New_York", tuple(CCR)))
    jobs = found["job_record"]
    assert jobs.height + found["reject_record"].height == 11_704
    both = jobs.filter(
        pl.col("req_mem_bytes").is_not_null()
        & pl.col("alloc_mem_bytes").is_not_null()
        & pl.col("node_list").is_not_null()
    )
    # What the flag 2^31 in ReqMem comes to is what AllocTRES says was held.
    assert both.filter(pl.col("req_mem_bytes") != pl.col("alloc_mem_bytes")).height == 0
    assert both.filter(pl.col("req_mem_bytes") > 2**50).height == 0
    held = jobs.select(
        ((pl.col("end_time") - pl.col("start_time")).dt.total_seconds() - pl.col("elapsed_s")).abs().max()
    )
    assert held.item() <= 1


@pytest.mark.parametrize(
    ("text", "other", "version", "records"),
    [
        ("linux/sacct_ALL_dup_x1f.txt", "linux/sacct_dup.json", "22.05", 128),
        ("linux/sacct_ALL_dup.txt", "linux/sacct_dup.json", "22.05", 128),
        ("v24/sacct_ALL_dup.txt", "v24/sacct_dup.json", "24.11", 104),
    ],
)
def test_text_and_json_give_the_same_jobs(text: str, other: str, version: str, records: int) -> None:
    context = Context("lab", "UTC")
    left, right = read(f"slurm-lab/dumps/{text}", context), read(f"slurm-lab/dumps/{other}", context)
    kept = left["job_record"].height + left["step_record"].height
    assert kept + left["reject_record"].height == records
    assert left["reject_record"].height <= (0 if "x1f" in text else 3)  # `|` in a name can be read in two ways
    assert right["job_record"].height + right["step_record"].height == records
    for table, kind, key in (
        ("job_record", "job", ["job_id_raw", "submit"]),
        ("step_record", "step", ["job_id_raw", "step_id", "start_time"]),
    ):
        assert differing(left[table], right[table], key, LACKS[version][kind]) == {}


def differing(left: pl.DataFrame, right: pl.DataFrame, key: list[str], lacks: list[str]) -> dict[str, list[Any]]:
    """By field, the values that the two do not share; those of steps whose job was rejected aside."""
    both = left.join(right, on=key, suffix="_json")
    if "step_id" in key:
        both = both.filter(pl.col("submit").is_not_null())
    found = {}
    for name in set(left.columns) - set(key) - set(lacks):
        one, two = pl.col(name), pl.col(f"{name}_json")
        same = one.eq_missing(two)
        if left[name].dtype == pl.Float64:
            same = same | ((one - two).abs() <= 1.001)  # text is cut to milliseconds, JSON's elapsed to seconds
        if rows := both.filter(~same.fill_null(False)).select(*key, one, two).rows():
            found[name] = rows
    return found


@pytest.mark.parametrize(
    ("name", "cluster", "attempts", "steps"),
    [
        ("slurm2sql/test-data1.csv", "any", 2, 3),
        ("vcell/sacct-json-multistep.json", "mantis", 1, 22),
    ],
)
def test_samples_from_other_projects(name: str, cluster: str, attempts: int, steps: int) -> None:
    found = read(f"traces/sacct_samples/{name}", Context(cluster, "America/New_York"))
    assert (found["job_record"].height, found["step_record"].height, found["reject_record"].height) == (
        attempts,
        steps,
        0,
    )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sacct-cancelled-by-user.txt", "columns missing"),
        ("sacct-multistep-running.txt", "columns missing"),
        ("sacct-no-matching-jobs.txt", "columns missing"),
        ("sacct-simple-completed.txt", "columns missing"),
        ("sacct-terminal-states.txt", "columns missing"),
        ("sacct-empty-output.txt", "is empty"),
        ("squeue-running.txt", "no header"),
        ("scontrol-json-running.json", "neither"),
    ],
)
def test_output_that_lacks_what_an_audit_needs(name: str, says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        read(f"traces/sacct_samples/vcell/{name}", Context("mantis", "UTC"))
