"""Princeton jobstats summaries, as its epilog leaves them in AdminComment: `JS1:` + base64(gzip(JSON)).

Compressing is done record by record: nothing vectorised does it, and the summaries are all different.
"""

import gzip
from base64 import b64encode

import polars as pl

from audit.sample import calibration as cal
from audit.sample.cluster import Cluster
from audit.sample.work import Attempts

_ENDED = ["COMPLETED", "FAILED", "CANCELLED", "OUT_OF_MEMORY", "TIMEOUT"]
_HEADER_FREE_LEVEL = 1  # speed: the comments are short and few bytes are saved by more


def comments(records: pl.DataFrame, cluster: Cluster, attempts: Attempts, sampling_s: float) -> pl.Series:
    """One text a record: empty for records without GPUs, that never started, or that did not end by themselves."""
    summarised = (
        (pl.col("gpus") > 0) & pl.col("start").is_not_null() & pl.col("state").is_in(_ENDED)
    )  # fmt: skip
    short = pl.col("elapsed_s") < max(cal.JOBSTATS_SHORT_S, 2 * sampling_s)
    missing = pl.col("label") % 1000 < cal.JOBSTATS_MISSING * 1000
    kind = records.select(
        pl.when(~summarised)
        .then(pl.lit(""))
        .when(short)
        .then(pl.lit("JS1:Short"))
        .when(missing)
        .then(pl.lit("JS1:None"))
        .otherwise(pl.lit("JS1:"))
        .alias("kind")
    ).to_series()
    texts = kind.to_list()
    rows = [row for row, text in enumerate(texts) if text == "JS1:"]
    for row, values in zip(rows, _values(records[rows]).iter_rows(), strict=True):
        packed = gzip.compress(_summary(cluster, attempts, *values).encode(), _HEADER_FREE_LEVEL, mtime=0)
        texts[row] = "JS1:" + b64encode(packed).decode()
    return pl.Series("comment", texts)


def _values(records: pl.DataFrame) -> pl.DataFrame:
    used = (
        pl.col("driver_bytes") + (pl.col("vram_share") * pl.col("vram_bytes") / 2**20).cast(pl.Int64) * 2**20
    )
    return records.select(
        "attempt",
        "elapsed_s",
        "gpus",
        pl.col("cores") // pl.col("nodes"),
        pl.col("mem_mib") // pl.col("nodes") * 2**20,
        pl.col("seen_kib") * 1024,
        (pl.col("core_mean") * pl.col("elapsed_s") / pl.col("nodes")).round(1),
        pl.col("gpus_touched") // pl.col("nodes"),
        "gpu_util",
        "vram_bytes",
        pl.min_horizontal(used, pl.col("vram_bytes")).alias("vram_used"),
        "driver_bytes",
    )


def _summary(
    cluster: Cluster, attempts: Attempts, attempt: int, elapsed_s: int, gpus: int, cores: int, total_memory: int,
    used_memory: int, cpu_s: float, touched: int, util: float, vram: int, vram_used: int, driver: int,
) -> str:  # fmt: skip
    """The JSON text, keys in the order jobstats collects them."""
    nodes = []
    share, rest = divmod(used_memory, len(attempts.nodes[attempt]))
    for node, cards in zip(attempts.nodes[attempt], attempts.gpus[attempt], strict=True):
        total = ",".join([f'"{card}":{vram}' for card in cards])
        used = ",".join([f'"{card}":{vram_used if i < touched else driver}' for i, card in enumerate(cards)])
        busy = ",".join([f'"{card}":{round(util, 1) if i < touched else 0}' for i, card in enumerate(cards)])
        nodes.append(
            f'"{cluster.node_names[node]}":{{"total_memory":{total_memory},"used_memory":{share + rest},'
            f'"total_time":{cpu_s},"cpus":{cores},"gpu_total_memory":{{{total}}},'
            f'"gpu_used_memory":{{{used}}},"gpu_utilization":{{{busy}}}}}'
        )
        rest = 0
    return f'{{"nodes":{{{",".join(nodes)}}},"total_time":{elapsed_s},"gpus":{gpus}}}'
