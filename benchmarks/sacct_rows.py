"""The rows of a generated accounting dump, shaped like those of Slurm 24.11; the same for the same arguments.

A job is four rows: the job, `.batch`, `.extern`, `.0`. The job row holds the request, the steps hold the use.
"""

import numpy as np
import polars as pl
import polars.selectors as cs

FIRST_SUBMIT = 1_780_000_000
# Real ones pass 2^63.
DB_INDEX_PREFIX = "155707830"
# The same facts in the columns that slurm2sql 0.9.9 asks sacct for, and in its time format; those that are no
# part of our own stay empty, which spares slurm2sql work.
SLURM2SQL_COLUMNS = """
    JobName User Group Account SubmitLine State Timelimit Elapsed Submit Start End Partition ExitCode
    NodeList Priority ReqNodes NNodes AllocNodes ReqTRES NTasks AllocTRES TRESUsageInTot TRESUsageOutTot
    NCPUS ReqCPUS AllocCPUS CPUTime TotalCPU UserCPU SystemCPU MinCPU MinCPUNode MinCPUTask ReqMem AveRSS
    MaxRSS MaxRSSNode MaxRSSTask MaxPages MaxVMSize AveDiskRead AveDiskWrite MaxDiskRead MaxDiskWrite
    Comment JobID JobIDRaw ConsumedEnergyRaw TRESUsageInAve
"""


def _clock(seconds: pl.Expr) -> pl.Expr:
    """`[D-]HH:MM:SS`, as sacct prints a duration."""
    days = seconds // 86_400
    clock = pl.format(
        "{}:{}:{}",
        (seconds // 3600 % 24).cast(pl.String).str.zfill(2),
        (seconds // 60 % 60).cast(pl.String).str.zfill(2),
        (seconds % 60).cast(pl.String).str.zfill(2),
    )
    return pl.when(days > 0).then(pl.format("{}-{}", days, clock)).otherwise(clock)


def _jobs(first: int, count: int) -> pl.DataFrame:
    """The jobs `first` … `first + count − 1`, numbers only: one row each."""
    rng = np.random.default_rng([first, count])
    job = np.arange(first, first + count)
    cores = rng.choice([1, 4, 8, 16, 64], count, p=[0.3, 0.25, 0.25, 0.15, 0.05])
    mem_gib = rng.choice([4, 16, 62, 128], count)
    elapsed = np.minimum(rng.lognormal(7.0, 2.2, count), 604_800).astype(np.int64)
    submit = FIRST_SUBMIT + job * 5
    return pl.DataFrame(
        {
            "job": job + 1,
            "submit": submit,
            "start": submit + rng.integers(0, 7200, count),
            "elapsed": elapsed,
            "cores": cores,
            "mem_gib": mem_gib,
            "gpus": rng.choice([0, 1, 4], count, p=[0.4, 0.45, 0.15]),
            "user": rng.zipf(1.3, count) % 300,
            "account": rng.integers(1, 41, count),
            "node": rng.integers(1, 401, count),
            "state": rng.choice(
                ["COMPLETED", "FAILED", "CANCELLED by 1001", "TIMEOUT", "OUT_OF_MEMORY"],
                count,
                p=[0.65, 0.18, 0.1, 0.05, 0.02],
            ),
            "running": rng.random(count) < 0.001,
            "cpu": (elapsed * cores * rng.random(count)).astype(np.int64),
            "rss_kib": (mem_gib * 1024**2 * rng.random(count)).astype(np.int64) + 500,
            "name": rng.integers(1, 5001, count),
        }
    )


def sacct_rows(first: int, count: int) -> pl.LazyFrame:
    """The jobs `first` … `first + count − 1` as sacct's text, four rows each."""
    kinds = pl.DataFrame({"suffix": ["", ".batch", ".extern", ".0"]}, schema={"suffix": pl.String})
    step = pl.col("suffix") != ""
    used = step & ~pl.col("running")
    job_id = pl.col("job").cast(pl.String) + pl.col("suffix")
    start = pl.col("start").cast(pl.String)
    # The work is done in `.0`; the script around it and the watcher `.extern` hold little.
    working = pl.col("suffix").is_in(["", ".0"])
    rss = pl.when(working).then(pl.col("rss_kib")).otherwise(440 + pl.col("job") % 9000)
    cpu = pl.when(working).then(pl.col("cpu")).otherwise(0)
    gpus = pl.when(pl.col("gpus") > 0)
    mem = pl.format("mem={}G,node=1", pl.col("mem_gib"))
    gpu_request = gpus.then(pl.format("gres/gpu={},", pl.col("gpus"))).otherwise(pl.lit(""))
    gpu_held = gpus.then(pl.format("gres/gpu:a100={},gres/gpu={},", pl.col("gpus"), pl.col("gpus")))
    alloc = pl.format("cpu={},{}{}", pl.col("cores"), gpu_held.otherwise(pl.lit("")), mem)
    billed = pl.format("billing={},{}", pl.col("cores"), alloc)
    rss_text = pl.when(used).then(pl.format("{}K", rss)).otherwise(pl.lit(""))
    name = pl.when(step).then(pl.col("suffix").str.strip_chars_start(".")).otherwise(pl.format("train_{}", "name"))
    usage = pl.format("cpu={},energy=0,fs/disk={},mem={}K,pages=0,vmem={}K", _clock(cpu), rss * 7, rss, rss * 2)
    ended = pl.when(pl.col("running"))

    def job_only(expression: pl.Expr) -> pl.Expr:
        return pl.when(step).then(pl.lit("")).otherwise(expression.cast(pl.String))

    request = pl.format("billing={},cpu={},{}{}", pl.col("cores"), pl.col("cores"), gpu_request, mem)
    return (
        _jobs(first, count)
        .lazy()
        .join(kinds.lazy(), how="cross", maintain_order="left_right")
        .select(
            JobID=job_id,
            JobIDRaw=job_id,
            Cluster=pl.lit("big"),
            DBIndex=pl.lit(DB_INDEX_PREFIX) + pl.col("job").cast(pl.String).str.zfill(11),
            User=job_only(pl.format("u{}", "user")),
            Account=pl.format("a{}", "account"),
            Partition=job_only(pl.lit("gpu")),
            QOS=job_only(pl.lit("normal")),
            Submit=pl.when(step).then(start).otherwise(pl.col("submit").cast(pl.String)),
            Eligible=pl.when(step).then(start).otherwise(pl.col("submit").cast(pl.String)),
            Start=start,
            End=ended.then(pl.lit("Unknown")).otherwise((pl.col("start") + pl.col("elapsed")).cast(pl.String)),
            ElapsedRaw=pl.col("elapsed"),
            Suspended=pl.lit("00:00:00"),
            State=ended.then(pl.lit("RUNNING"))
            .when(step)
            .then(pl.lit("COMPLETED"))
            .otherwise(pl.col("state").cast(pl.String)),
            ExitCode=pl.lit("0:0"),
            TimelimitRaw=job_only(pl.lit("1440")),
            NNodes=pl.lit("1"),
            NTasks=pl.when(step).then(pl.lit("1")).otherwise(pl.lit("")),
            AllocCPUS=pl.col("cores"),
            ReqCPUS=pl.col("cores"),
            ReqMem=job_only(pl.format("{}G", "mem_gib")),
            ReqTRES=job_only(request),
            AllocTRES=pl.when(pl.col("suffix").is_in(["", ".extern"])).then(billed).otherwise(alloc),
            NodeList=pl.format("node{}", pl.col("node").cast(pl.String).str.zfill(4)),
            TotalCPU=ended.then(pl.lit("00:00:00")).otherwise(_clock(cpu)),
            MaxRSS=rss_text,
            AveRSS=rss_text,
            TRESUsageInTot=pl.when(used).then(usage).otherwise(pl.lit("")),
            JobName=name,
        )
    )


def slurm2sql_rows(first: int, count: int) -> pl.LazyFrame:
    """The rows of `sacct_rows` in slurm2sql's columns and its time format."""

    def local(column: str) -> pl.Expr:
        stamp = pl.from_epoch(pl.col(column).cast(pl.Int64, strict=False))
        return stamp.dt.strftime("%Y-%m-%dT%H:%M:%S").fill_null("Unknown").alias(column)

    rows = sacct_rows(first, count)
    wanted = SLURM2SQL_COLUMNS.split()
    empty = [pl.lit(None, pl.String).alias(name) for name in wanted if name not in rows.collect_schema()]
    known = {
        "Elapsed": _clock(pl.col("ElapsedRaw")),
        "Timelimit": pl.when(pl.col("TimelimitRaw") != "").then(pl.lit("1-00:00:00")).otherwise(pl.lit("")),
        "NCPUS": pl.col("AllocCPUS"),
        "CPUTime": _clock(pl.col("ElapsedRaw") * pl.col("AllocCPUS")),
        "ReqNodes": pl.col("NNodes"),
        "AllocNodes": pl.col("NNodes"),
    }
    return (
        rows.with_columns(*empty)
        .with_columns(local("Submit"), local("Start"), local("End"), **known)
        .select(wanted)
        .with_columns(cs.string().replace("", None))
    )
