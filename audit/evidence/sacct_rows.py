"""sacct's records, as text by field, to canonical rows of attempts and steps. Vectorised."""

from dataclasses import dataclass

import polars as pl

from audit import units
from audit.evidence.interface import JOB_SCHEMA, REJECT_SCHEMA, STEP_SCHEMA, Batch, Context, EvidenceError, Schema
from audit.evidence.jobstats import gpu_rows
from audit.evidence.sacct_fields import READ_FIELDS, SHAPES
from audit.evidence.times import moments, settle

# Slurm's own words. A record may carry several ("PENDING,REQUEUED"); the flags tell more than the state.
_STATES = """
    PENDING RUNNING SUSPENDED COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE
    OUT_OF_MEMORY COMPLETING CONFIGURING RESIZING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT STAGE_OUT
    STOPPED REVOKED SIGNALING RECONFIG_FAIL POWER_UP_NODE RESV_DEL_HOLD LAUNCH_FAILED UPDATE_DB EXPEDITING
""".split()
OPEN_STATES = (
    "PENDING",
    "RUNNING",
    "SUSPENDED",
    "COMPLETING",
    "CONFIGURING",
    "STOPPED",
    "SIGNALING",
    "STAGE_OUT",
)
_FEW = 20  # records whose times do not fit may be a site's own oddity
_ID = r"^(\d+)(?:_(\d+)|_\[([^\]]*)\]|\+(\d+))?(?:\.(.+))?$"


@dataclass
class Carry:
    """The last attempt of the rows before: its steps may follow in the next."""

    job_id_raw: str | None = None
    submit: object = None
    start: object = None
    end: object = None


def canonical(raw: pl.DataFrame, context: Context, carry: Carry) -> Batch:
    """The attempts, steps and rejects in `raw`: one row a record, `line` and sacct's fields in lower case as text."""
    raw = raw.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in READ_FIELDS if name not in raw.columns)
    mine = (raw["cluster"] == context.cluster) | (raw["cluster"] == "") | raw["cluster"].is_null()
    foreign = raw.height - int(mine.sum())
    other = ""
    if foreign:
        other = str(raw.filter(~mine)["cluster"][0])
        raw = raw.filter(mine)
    rows, rejects = _common(raw, context)
    if context.columns:
        _check_elapsed(rows)
    jobs, steps = rows.filter(~pl.col("is_step")), rows.filter(pl.col("is_step"))
    batch: dict[str, pl.DataFrame] = {"reject_record": rejects}
    attached = _attached(rows, carry)
    if jobs.height:
        batch["job_record"] = _jobs(jobs)
        batch["host_list"] = host_rows(batch["job_record"]["node_list"])
        gpus = gpu_rows(jobs.select("cluster", "job_id_raw", "submit", "admincomment"))
        if gpus.height:
            batch["gpu_record"] = gpus
    if steps.height:
        batch["step_record"] = _steps(steps.with_columns(submit=attached.filter(rows["is_step"])))
    return Batch(batch, other_cluster=foreign, other_name=other)


def _blank_to_null(column: pl.Series) -> pl.Series:
    return pl.select(pl.when(column != "").then(column)).to_series()


def state(text: pl.Series) -> pl.Series:
    """The state in one word: `CANCELLED by 1002` is CANCELLED, `OUT_OF_ME+` OUT_OF_MEMORY, `PENDING,REQUEUED` REQUEUED.

    A word this Slurm's manual does not know is kept as it is; NULL where there is none.
    """
    return units.by_value(text, _state)


def _state(text: pl.Series) -> pl.Series:
    return pl.Series([_state_word(value or "") for value in text.to_list()], dtype=pl.String)


def _state_word(text: str) -> str | None:
    words = [word for word in text.upper().partition(" BY ")[0].replace(" ", ",").split(",") if word]
    full = [next((s for s in _STATES if s.startswith(w[:-1])), w[:-1]) if w.endswith("+") else w for w in words]
    for flag in ("REQUEUED", "RESIZING"):
        if flag in full:
            return flag
    return full[0] if full and SHAPES["state"].fullmatch(full[0]) else None


def _common(raw: pl.DataFrame, context: Context) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What attempts and steps share: ids, state, times; and the records that lack them, by reason."""
    rows = _timed(_identified(raw, context), context)
    rows = rows.with_columns(reason=_reason())
    bad = rows["reason"].is_not_null()
    if not bad.any():
        return rows, pl.DataFrame(schema=REJECT_SCHEMA)
    named = [name for name in raw.columns if name != "line"]
    text = raw.filter(bad).select(pl.concat_str(named, separator="|", ignore_nulls=True)).to_series()
    rejects = rows.filter(bad).select("line", "reason").with_columns(text=text)
    return rows.filter(~bad), rejects.select(list(REJECT_SCHEMA))


def _identified(raw: pl.DataFrame, context: Context) -> pl.DataFrame:
    parts = raw["jobid"].str.extract_groups(_ID).struct
    step = parts.field("5")
    return raw.with_columns(
        base=parts.field("1"),
        task=parts.field("2"),
        folded=parts.field("3"),
        offset=parts.field("4"),
        step_id=step,
        is_step=step.is_not_null(),
        job_id_raw=pl.coalesce(pl.col("jobidraw").str.extract(r"^(\d+)"), pl.col("jobid").str.extract(r"^([^.]+)")),
        cluster=pl.lit(context.cluster),
        state=state(raw["state"]),
    )


def _timed(rows: pl.DataFrame, context: Context) -> pl.DataFrame:
    submit, start, end = (moments(rows[name], context.timezone) for name in ("submit", "start", "end"))
    elapsed = _first(units.duration_s(rows["elapsedraw"]), units.duration_s(rows["elapsed"]))
    suspended = units.duration_s(rows["suspended"])
    started, ended = settle(start, end, elapsed, suspended)
    rows = rows.with_columns(
        submit=pl.select(pl.when(submit.late <= started).then(submit.late).otherwise(submit.early)).to_series(),
        eligible_time=moments(rows["eligible"], context.timezone).early,
        start_time=started,
        end_time=ended,
        elapsed_s=elapsed,
        suspended_s=suspended,
        bad_time=submit.wrong | start.wrong | end.wrong,
    )
    # A pending attempt's start is an estimate. A state that is over with no end written: elapsed tells the end.
    over = ~pl.col("state").is_in(OPEN_STATES) & pl.col("end_time").is_null() & pl.col("elapsed_s").is_not_null()
    took = (pl.col("elapsed_s") + pl.col("suspended_s").fill_null(0)) * 1_000_000
    return rows.with_columns(
        start_time=pl.when(pl.col("state") != "PENDING").then("start_time"),
        end_time=pl.when(over)
        .then(pl.col("start_time") + pl.duration(microseconds=took.cast(pl.Int64)))
        .when(pl.col("state").is_in(["RUNNING", "SUSPENDED", "PENDING"]))
        .then(None)
        .otherwise("end_time"),
    )


def _check_elapsed(rows: pl.DataFrame) -> None:
    """EvidenceError where most records' elapsed time is not the time from start to end: columns are misnamed."""
    took = (pl.col("end_time") - pl.col("start_time")).dt.total_seconds().cast(pl.Float64)
    over = took - pl.col("elapsed_s")
    known = rows.filter(~pl.col("is_step") & (took > 0) & (pl.col("elapsed_s") > 0))
    odd = known.filter((over < -2) | (over > pl.col("suspended_s").fill_null(0) + 2)).height
    if odd > _FEW and odd * 2 > known.height:
        raise EvidenceError(
            f"its elapsed times are not those from start to end ({odd} of {known.height} records)",
            remedy="its columns are not what --columns calls them",
        )


def _reason() -> pl.Expr:
    """Why a row is no record of ours; NULL where it is."""
    return (
        pl.when(pl.col("base").is_null())
        .then(pl.lit("no job id"))
        .when(pl.col("state").is_null())
        .then(pl.lit("no state"))
        .when("bad_time")
        .then(pl.lit("a time that is none, or never was on this clock"))
        .when(~pl.col("is_step") & pl.col("submit").is_null())
        .then(pl.lit("no submit time"))
        .when(pl.col("end_time") < pl.col("start_time"))
        .then(pl.lit("it ends before it starts"))
    )


def _attached(rows: pl.DataFrame, carry: Carry) -> pl.Series:
    """For each row the submit time of the attempt it stands under; NULL where it stands under none of its own."""
    lead = rows.select(
        job=pl.when(~pl.col("is_step")).then("job_id_raw"),
        at=pl.when(~pl.col("is_step")).then("submit"),
        begin=pl.when(~pl.col("is_step")).then("start_time"),
        # An open attempt has no end: the empty one must not let an older attempt's shine through.
        until=pl.when(~pl.col("is_step")).then(pl.col("end_time").fill_null(pl.datetime(2200, 1, 1))),
    )
    before = pl.DataFrame(
        {"job": [carry.job_id_raw], "at": [carry.submit], "begin": [carry.start], "until": [carry.end]},
        schema=lead.schema,
    )
    begin = pl.col("begin").fill_null(pl.datetime(1970, 1, 2))
    filled = pl.concat([before, lead.with_columns(begin=pl.when(pl.col("job").is_not_null()).then(begin))]).select(
        pl.all().forward_fill()
    )
    last = filled.row(-1, named=True)
    carry.job_id_raw, carry.submit, carry.start, carry.end = (
        last["job"],
        last["at"],
        last["begin"],
        last["until"],
    )
    both = pl.concat([rows.select("job_id_raw", "start_time"), filled.slice(1)], how="horizontal")
    slack = pl.duration(seconds=10)
    inside = pl.col("start_time").is_null() | (
        (pl.col("start_time") >= pl.col("begin") - slack) & (pl.col("start_time") <= pl.col("until") + slack)
    )
    return both.select(pl.when((pl.col("job_id_raw") == pl.col("job")) & inside).then("at").alias("submit"))["submit"]


def _jobs(rows: pl.DataFrame) -> pl.DataFrame:
    started = rows["start_time"].is_not_null()
    number = {name: units.number(rows[name]) for name in ("alloccpus", "ncpus", "reqcpus", "nnodes", "allocnodes")}
    nodes = _first(number["nnodes"], number["allocnodes"])
    req_cores = _first(number["reqcpus"], _cores(rows["reqtres"]))
    per_core = _first(_positive(number["ncpus"]), _positive(number["alloccpus"]), req_cores)
    req_mem = _first(
        units.req_mem_bytes(rows["reqmem"], nodes, per_core),
        _mem_bytes(rows["reqtres"]),
    )
    alloc_cores = _first(_cores(rows["alloctres"]), number["alloccpus"], number["ncpus"])
    alloc_mem = _first(_mem_bytes(rows["alloctres"]), req_mem)
    held, asked = (units.gres(_blank_to_null(rows[name])) for name in ("alloctres", "reqtres"))
    listed = rows["nodelist"]
    frame = rows.with_columns(
        array_job_id=pl.when(pl.col("task").is_not_null() | pl.col("folded").is_not_null()).then("base"),
        array_task_id=pl.col("task").cast(pl.Int64, strict=False),
        array_tasks=_folded(rows["folded"]),
        het_job_id=pl.when(pl.col("offset").is_not_null()).then("base"),
        het_offset=pl.col("offset").cast(pl.Int64, strict=False),
        time_limit_s=_first(
            units.time_limit_s(rows["timelimitraw"], minutes=True),
            units.time_limit_s(rows["timelimit"], minutes=False),
        ),
        node_count=nodes.cast(pl.Int64, strict=False),
        node_list=pl.when(~listed.is_in(["None assigned", "(null)", ""])).then(listed),
        exclusive=pl.when(pl.col("exclusive").is_not_null() & (pl.col("exclusive") != "")).then(
            pl.col("exclusive").str.to_uppercase().is_in(["NODE", "YES", "EXCLUSIVE", "TOPO"])
        ),
        req_cores=req_cores,
        req_mem_bytes=req_mem,
        req_gpus=asked["gpus"],
        req_gres=asked["gres"],
        alloc_cores=pl.when(started).then(alloc_cores),
        alloc_mem_bytes=pl.when(started).then(alloc_mem),
        alloc_gpus=pl.when(started).then(held["gpus"]),
        alloc_shards=pl.when(started).then(held["shards"]),
        alloc_gres=pl.when(started).then(held["gres"]),
        cpu_s=pl.when(started).then(units.duration_s(rows["totalcpu"])),
        tasks=units.number(rows["ntasks"]).cast(pl.Int64, strict=False),
        max_rss_bytes=_positive(units.mem_bytes(rows["maxrss"])),
        rss_bytes=_positive(units.mem_bytes(units.tres(rows["tresusageintot"], "mem"))),
        job_id="jobid",
        db_index=_first(rows["dbindex"], units.sluid_number(rows["sluid"])),
        original_sluid="originalsluid",
        user_name="user",
        job_name="jobname",
        exit_code="exitcode",
        derived_exit_code="derivedexitcode",
        eligible="eligible_time",
    )
    return _shaped(frame, JOB_SCHEMA)


def _folded(text: pl.Series) -> pl.Series:
    counts = [None if value is None else units.array_tasks(value) for value in text.to_list()] if text.count() else None
    return pl.Series(counts or [None] * text.len(), dtype=pl.Int64)


def _steps(rows: pl.DataFrame) -> pl.DataFrame:
    inside, out = rows["tresusageintot"], rows["tresusageouttot"]
    most = _first(units.mem_bytes(rows["maxrss"]), units.mem_bytes(units.tres(rows["tresusageinmax"], "mem")))
    mean = _first(units.mem_bytes(rows["averss"]), units.mem_bytes(units.tres(rows["tresusageinave"], "mem")))
    listed = rows["nodelist"]
    frame = rows.with_columns(
        node_count=units.number(rows["nnodes"]).cast(pl.Int64, strict=False),
        node_list=pl.when(~listed.is_in(["None assigned", "(null)", ""])).then(listed),
        tasks=units.number(rows["ntasks"]).cast(pl.Int64, strict=False),
        alloc_cores=_first(
            _cores(rows["alloctres"]),
            units.number(rows["alloccpus"]),
            units.number(rows["ncpus"]),
        ),
        alloc_mem_bytes=_mem_bytes(rows["alloctres"]),
        max_rss_bytes=_positive(most),
        ave_rss_bytes=_positive(mean),
        rss_bytes=_positive(units.mem_bytes(units.tres(inside, "mem"))),
        cpu_s=units.duration_s(rows["totalcpu"]),
        read_bytes=units.mem_bytes(units.tres(inside, "fs/disk")),
        write_bytes=units.mem_bytes(units.tres(out, "fs/disk")),
        gpu_util=units.number(units.tres(rows["tresusageinave"], "gres/gpuutil")),
        gpu_mem_bytes=units.mem_bytes(units.tres(rows["tresusageinmax"], "gres/gpumem")),
        db_index="dbindex",
        exit_code="exitcode",
    )
    return _shaped(frame, STEP_SCHEMA)


def host_rows(lists: pl.Series) -> pl.DataFrame:
    """The nodes that each distinct node list names."""
    distinct = lists.drop_nulls().unique()
    nodes = [list(units.hosts(value)) for value in distinct.to_list()]
    frame = pl.DataFrame({"node_list": distinct, "node": pl.Series(nodes, dtype=pl.List(pl.String))})
    return frame.explode("node").drop_nulls()


def _shaped(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    texts = [pl.when(pl.col(c) != "").then(pl.col(c)).alias(c) for c, t in schema.items() if t == pl.String]
    return frame.with_columns(texts).select(pl.col(name).cast(kind) for name, kind in schema.items())


def _cores(tres: pl.Series) -> pl.Series:
    return units.by_value(tres, lambda text: units.number(units.tres(text, "cpu")))


def _mem_bytes(tres: pl.Series) -> pl.Series:
    """NULL where it is 0: a list that says no memory."""
    return units.by_value(tres, lambda text: _positive(units.mem_bytes(units.tres(text, "mem"))))


def _first(*columns: pl.Series) -> pl.Series:
    return pl.select(pl.coalesce(*columns)).to_series()


def _positive(column: pl.Series) -> pl.Series:
    return pl.select(pl.when(column > 0).then(column)).to_series()
