"""Steps of attempts: `.batch`, `.extern`, `.interactive`, `.0` and on, with their shares of what was used.

The parts of an attempt that run side by side add up to the attempt: `.batch` and the step under way hold
its peak together; `.extern` holds nothing, as on most real nodes.
"""

import polars as pl

BATCH_KIB = 4921  # what a shell that waits for srun takes on a real node
LAUNCHER_MS = 46  # and its CPU time
EXTERN_MS = 1

_KILLED = ["TIMEOUT", "CANCELLED", "NODE_FAIL", "PREEMPTED", "REQUEUED"]


def build(records: pl.DataFrame) -> pl.DataFrame:
    """One row a step of every record that started; `seen_kib` and `max_kib` NULL where nothing was seen."""
    ran = records.filter(pl.col("start").is_not_null()).with_columns(
        ended=pl.col("start") + pl.col("elapsed_s"),
        cpu_ms=(pl.col("core_mean") * pl.col("elapsed_s") * 1000).cast(pl.Int64),
        beside_kib=(pl.col("seen_kib") // 4).clip(upper_bound=BATCH_KIB),
        srun=pl.col("steps").is_in(["srun", "multi"]),
    )
    script = ran.filter(pl.col("steps") != "interactive", pl.col("component") != 1)
    parts = [
        _plain(script.filter(~pl.col("srun")), "batch", 1, pl.col("seen_kib"), pl.col("cpu_ms")),
        _on_first_node(script.filter("srun")),
        _plain(
            ran.filter(pl.col("steps") == "interactive"),
            "interactive",
            1,
            pl.col("seen_kib"),
            pl.col("cpu_ms"),
        ),
        _extern(ran),
        _main(ran.filter(pl.col("steps") == "srun"), "0", 3),
        *_sequence(ran.filter(pl.col("steps") == "multi")),
    ]
    return pl.concat(parts)


def _plain(frame: pl.DataFrame, step: str, kind: int, kib: pl.Expr, cpu_ms: pl.Expr) -> pl.DataFrame:
    """A step over the attempt's whole time that fares as the attempt does; a killed one shows CANCELLED."""
    killed = pl.col("state").is_in(_KILLED)
    return frame.select(
        "record",
        kind=pl.lit(kind),
        step=pl.lit(step),
        name=pl.lit(step),
        start="start",
        end="end",
        elapsed_s="elapsed_s",
        state=pl.when(killed).then(pl.lit("CANCELLED")).otherwise(pl.col("state")),
        exit_code=pl.when(killed).then(pl.lit("0:15")).otherwise(pl.col("exit_code")),
        nodes="nodes",
        tasks=pl.lit(1, pl.Int64),
        cores="cores",
        gpus="gpus",
        mem_mib="mem_mib",
        node_list="node_list",
        cpu_ms=cpu_ms,
        seen_kib=kib,
        max_kib=kib,
    )


def _on_first_node(frame: pl.DataFrame) -> pl.DataFrame:
    """The batch step of an attempt whose work runs under srun: a shell, on the first node alone."""
    per_node = [(pl.col(name) // pl.col("nodes")).alias(name) for name in ("cores", "gpus", "mem_mib")]
    first = frame.with_columns(*per_node, node_list="first_node", nodes=pl.lit(1, pl.Int64))
    launcher = pl.min_horizontal(pl.lit(LAUNCHER_MS), pl.col("cpu_ms"))
    return _plain(first, "batch", 1, pl.col("beside_kib"), launcher)


def _extern(frame: pl.DataFrame) -> pl.DataFrame:
    nothing = pl.when(pl.col("seen_kib").is_not_null()).then(pl.lit(0, pl.Int64))
    return _plain(frame, "extern", 2, nothing, pl.lit(EXTERN_MS, pl.Int64)).with_columns(
        tasks="nodes",
        state=pl.when(pl.col("end").is_null()).then(pl.lit("RUNNING")).otherwise(pl.lit("COMPLETED")),
        exit_code=pl.lit("0:0"),
    )


def _main(frame: pl.DataFrame, step: str, kind: int) -> pl.DataFrame:
    """The step that does the work: its tasks share the rest of the peak, one of them more than the others."""
    rest = pl.col("seen_kib") - pl.when(pl.col("component") == 1).then(0).otherwise(pl.col("beside_kib"))
    frame = frame.with_columns(rest=rest)
    fattest = (pl.col("rest") / pl.col("tasks") * (1 + pl.col("fat"))).cast(pl.Int64)
    max_kib = (
        pl.when(pl.col("tasks") == 1)
        .then(pl.col("rest"))
        .otherwise(pl.min_horizontal(pl.col("rest"), pl.max_horizontal(fattest, pl.col("rest") // pl.col("tasks") + 1)))
    )
    launched = pl.when(pl.col("component") == 1).then(0).otherwise(LAUNCHER_MS)
    cpu_ms = pl.max_horizontal(pl.lit(0, pl.Int64), pl.col("cpu_ms") - launched)
    shape = frame.select("record", "tasks", max_kib=max_kib.cast(pl.Int64))
    rows = _plain(frame, step, kind, pl.col("rest"), cpu_ms)
    return rows.with_columns(tasks=shape["tasks"], max_kib=shape["max_kib"], name=pl.lit("python3"))


def _sequence(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """Three steps one after another: a light one, the one that peaks, and, after success, one more."""
    first_s = frame["elapsed_s"] // 10
    last_s = pl.Series(frame["elapsed_s"] // 30 * (frame["state"] == "COMPLETED"))
    main_start = frame["start"] + first_s
    main_end = frame["ended"] - last_s
    main = _main(frame, "1", 4)
    first = main.with_columns(
        kind=pl.lit(3), step=pl.lit("0"), name=pl.lit("stage_in"), end=main_start, elapsed_s=first_s,
        state=pl.lit("COMPLETED"), exit_code=pl.lit("0:0"), cpu_ms=pl.col("cpu_ms") // 10,
        seen_kib=pl.col("seen_kib") * 2 // 5, max_kib=pl.col("seen_kib") * 2 // 5,
    )  # fmt: skip
    last = main.with_columns(
        kind=pl.lit(5), step=pl.lit("2"), name=pl.lit("stage_out"), start=main_end, elapsed_s=last_s,
        cpu_ms=pl.col("cpu_ms") // 20, seen_kib=pl.col("seen_kib") // 5, max_kib=pl.col("seen_kib") // 5,
    ).filter(pl.col("state") == "COMPLETED")  # fmt: skip
    taken = pl.col("cpu_ms") // 10 + pl.when(pl.col("state") == "COMPLETED").then(pl.col("cpu_ms") // 20).otherwise(0)
    running = frame["end"].is_null()
    main = main.with_columns(
        start=main_start, elapsed_s=main_end - main_start, cpu_ms=pl.col("cpu_ms") - taken,
        end=pl.Series(main_end).set(running, None),
    )  # fmt: skip
    return [first, main, last]
