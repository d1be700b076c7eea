"""`sacct -a -D -P --delimiter=$'\\x1f'` of the records, one file a day: that on which an attempt ended."""

from pathlib import Path

import polars as pl

from audit.sample import calibration as cal
from audit.sample.slurm_text import clock, cpu_time, exact_mib, or_unknown, resident, tres

DELIMITER = "\x1f"
COLUMNS = (
    *("JobID", "JobIDRaw", "Cluster", "DBIndex", "User", "Account", "Partition", "QOS", "Submit", "Eligible"),
    *("Start", "End", "ElapsedRaw", "Suspended", "State", "ExitCode", "DerivedExitCode", "TimelimitRaw"),
    *("NNodes", "NTasks", "AllocCPUS", "ReqCPUS", "ReqMem", "ReqTRES", "AllocTRES", "NodeList", "TotalCPU"),
    *("MaxRSS", "AveRSS", "TRESUsageInTot", "AdminComment", "JobName"),
)
_EMPTY = pl.lit("")


def lines(records: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """`day` (local date of the end, NULL before it) and `line`, in the order sacct prints them."""
    cpu = steps.group_by("record").agg(total_cpu_ms=pl.col("cpu_ms").sum())
    jobs = _job_rows(_folded(records).join(cpu, on="record", how="left"))
    of_record = records.select(
        *("record", "job_id", "job_id_raw", "db_index", "account", "gpu_type"),
        job_end="end",
        job_state="state",
    )
    rows = pl.concat([jobs, _step_rows(steps.join(of_record, on="record"))])
    day = pl.from_epoch("job_end").dt.replace_time_zone("UTC").dt.convert_time_zone(cal.TIME_ZONE).dt.date()
    return rows.sort("record", "kind").select(day=day, line="line")


def write(evidence: Path, rows: pl.DataFrame) -> tuple[Path, ...]:
    """Writes `sacct-YYYY-MM-DD.txt` a day; what has not ended stands in the last."""
    rows = rows.with_columns(pl.col("day").fill_null(rows["day"].max()))
    header = DELIMITER.join(COLUMNS)
    written = []
    for (day,), part in sorted(rows.group_by("day", maintain_order=True), key=lambda group: str(group[0])):
        path = evidence / f"sacct-{day}.txt"
        path.write_text("\n".join([header, *part["line"].to_list(), ""]), encoding="utf-8")
        written.append(path)
    return tuple(written)


def _folded(records: pl.DataFrame) -> pl.DataFrame:
    """Pending array tasks become their array's one row, `123_[5-10%2]`, where the first of them stood."""
    waiting = records.filter("folded")
    if waiting.is_empty():
        return records
    first = waiting.group_by("job_id_raw", maintain_order=True).first()
    tasks = (
        waiting.with_columns(task=pl.col("job_id").str.extract(r"_(\d+)$").cast(pl.Int64))
        .sort("job_id_raw", "task")
        .with_columns(run=pl.col("task") - pl.int_range(pl.len()).over("job_id_raw"))
        .group_by("job_id_raw", "run", maintain_order=True)
        .agg(low=pl.col("task").min(), high=pl.col("task").max())
        .select(
            "job_id_raw",
            span=pl.when(pl.col("low") == pl.col("high"))
            .then(pl.col("low").cast(pl.String))
            .otherwise(pl.format("{}-{}", "low", "high")),
        )
        .group_by("job_id_raw", maintain_order=True)
        .agg(spans=pl.col("span").str.join(","))
    )
    throttle = pl.when(pl.col("throttle") > 0).then(pl.format("%{}", "throttle")).otherwise(_EMPTY)
    rows = first.join(tasks, on="job_id_raw").with_columns(
        job_id=pl.format("{}_[{}{}]", "job_id_raw", "spans", throttle)
    )
    return pl.concat([records.filter(~pl.col("folded")), rows.select(records.columns)])


def _job_rows(records: pl.DataFrame) -> pl.DataFrame:
    started = pl.col("start").is_not_null()
    by_uid = pl.when(pl.col("state") == "CANCELLED").then(pl.format("CANCELLED by {}", "uid"))
    withdrawn = pl.col("end").is_not_null() & ~started
    asked = tres("cores", "asked_type", "gpus", "mem_mib", "nodes")
    cells: dict[str, str | pl.Expr] = {
        "JobID": "job_id",
        "JobIDRaw": "job_id_raw",
        "Cluster": pl.lit(cal.CLUSTER),
        "DBIndex": "db_index",
        "User": "user",
        "Account": "account",
        "Partition": "partition",
        "QOS": "qos",
        "Submit": "submit",
        "Eligible": "eligible",
        "Start": pl.when(withdrawn).then(pl.lit("None")).otherwise(or_unknown("start")),
        "End": or_unknown("end"),
        "ElapsedRaw": "elapsed_s",
        "Suspended": pl.lit("00:00:00"),
        "State": by_uid.otherwise(pl.col("state")),
        "ExitCode": "exit_code",
        "DerivedExitCode": pl.when(pl.col("steps").is_in(["srun", "multi"]))
        .then(pl.col("exit_code"))
        .otherwise(pl.lit("0:0")),
        "TimelimitRaw": pl.col("limit_s") // 60,
        "NNodes": "nodes",
        "NTasks": _EMPTY,
        "AllocCPUS": pl.when(started).then(pl.col("cores")).otherwise(0),
        "ReqCPUS": "cores",
        "ReqMem": exact_mib(pl.col("mem_mib")),
        "ReqTRES": asked,
        "AllocTRES": pl.when(started).then(tres("cores", "gpu_type", "gpus", "mem_mib", "nodes")).otherwise(_EMPTY),
        "NodeList": "node_list",
        "TotalCPU": _cpu("total_cpu_ms", "state"),
        "MaxRSS": _EMPTY,
        "AveRSS": _EMPTY,
        "TRESUsageInTot": _EMPTY,
        "AdminComment": "comment",
        "JobName": "name",
    }
    frame = records.with_columns(asked_type=pl.when("typed").then(pl.col("gpu_type")).otherwise(_EMPTY))
    return _joined(frame, cells, pl.lit(0), "end")


def _step_rows(steps: pl.DataFrame) -> pl.DataFrame:
    seen, total = pl.col("seen_kib").is_not_null(), pl.col("seen_kib") * 1024
    usage = pl.format(
        "cpu={},energy=0,fs/disk={},mem={},pages=0,vmem={}",
        clock(pl.col("cpu_ms") // 1000),
        4148 + pl.col("elapsed_s") * 97,
        resident(total),
        resident(total + pl.col("seen_kib") // 20 * 1024),
    )
    billing = pl.col("step") == "extern"
    plain = tres("cores", "gpu_type", "gpus", "mem_mib", "nodes", billing=False)
    cells: dict[str, str | pl.Expr] = {
        "JobID": pl.format("{}.{}", "job_id", "step"),
        "JobIDRaw": pl.format("{}.{}", "job_id_raw", "step"),
        "Cluster": pl.lit(cal.CLUSTER),
        "DBIndex": "db_index",
        "User": _EMPTY,
        "Account": "account",
        "Partition": _EMPTY,
        "QOS": _EMPTY,
        "Submit": "start",
        "Eligible": "start",
        "Start": "start",
        "End": or_unknown("end"),
        "ElapsedRaw": "elapsed_s",
        "Suspended": pl.lit("00:00:00"),
        "State": "state",
        "ExitCode": "exit_code",
        "DerivedExitCode": _EMPTY,
        "TimelimitRaw": _EMPTY,
        "NNodes": "nodes",
        "NTasks": "tasks",
        "AllocCPUS": "cores",
        "ReqCPUS": "cores",
        "ReqMem": _EMPTY,
        "ReqTRES": _EMPTY,
        "AllocTRES": pl.when(billing).then(tres("cores", "gpu_type", "gpus", "mem_mib", "nodes")).otherwise(plain),
        "NodeList": "node_list",
        "TotalCPU": _cpu("cpu_ms", "job_state"),
        "MaxRSS": pl.when(seen).then(resident(pl.col("max_kib") * 1024)).otherwise(_EMPTY),
        "AveRSS": pl.when(seen).then(resident(total // pl.col("tasks"))).otherwise(_EMPTY),
        "TRESUsageInTot": pl.when(seen).then(usage).otherwise(_EMPTY),
        "AdminComment": _EMPTY,
        "JobName": "name",
    }
    return _joined(steps, cells, pl.col("kind"), "job_end")


def _cpu(milliseconds: str, state: str) -> pl.Expr:
    """TotalCPU; nothing for what runs, waits, never ran, or was lost with its node."""
    unknown = pl.col("end").is_null() | (pl.col(state) == "NODE_FAIL")
    return cpu_time(pl.when(unknown).then(0).otherwise(pl.col(milliseconds).fill_null(0)))


def _joined(frame: pl.DataFrame, cells: dict[str, str | pl.Expr], kind: pl.Expr, end: str) -> pl.DataFrame:
    columns = [pl.col(cell) if isinstance(cell, str) else cell for cell in (cells[name] for name in COLUMNS)]
    texts = [column.cast(pl.String) for column in columns]
    return frame.select(
        "record",
        kind=kind.cast(pl.Int32),
        job_end=pl.col(end),
        line=pl.concat_str(*texts, separator=DELIMITER),
    )
