"""Princeton jobstats summaries, as its epilog leaves them in AdminComment: `JS1:` + base64(gzip(JSON)).

Compressing is done record by record: nothing vectorised does it, and the summaries are all different.
"""

import zlib
from base64 import b64encode
from typing import NamedTuple

import polars as pl

from audit.sample import calibration as cal
from audit.sample.cluster import MIB, Cluster
from audit.sample.work import Attempts

_ENDED = ["COMPLETED", "FAILED", "CANCELLED", "OUT_OF_MEMORY", "TIMEOUT"]
_FASTEST = 1  # the texts are short, and little is saved by more
_GZIP = 31  # zlib with a gzip header, the same bytes from every Python


class _Use(NamedTuple):
    """What one summary says, per node; `elapsed_s`, `gpus` and `used_memory` are the whole attempt's."""

    attempt: int
    elapsed_s: int
    gpus: int
    cores: int
    total_memory: int
    used_memory: int
    cpu_s: float
    touched: int
    util: float
    vram: int
    vram_used: int
    driver: int


def comments(records: pl.DataFrame, cluster: Cluster, attempts: Attempts, sampling_s: float) -> pl.Series:
    """One text a record; empty without GPUs and for what never started or did not end by itself."""
    summarised = (pl.col("gpus") > 0) & pl.col("start").is_not_null() & pl.col("state").is_in(_ENDED)
    short = pl.col("elapsed_s") < max(cal.JOBSTATS_SHORT_S, 2 * sampling_s)
    missing = (pl.col("label") % 1000 < cal.JOBSTATS_MISSING * 1000) | pl.col("unwatched")
    kind = (
        pl.when(~summarised)
        .then(pl.lit(""))
        .when(short)
        .then(pl.lit("JS1:Short"))
        .when(missing)
        .then(pl.lit("JS1:None"))
        .otherwise(pl.lit("JS1:"))
    )
    texts = records.select(kind.alias("kind")).to_series().to_list()
    rows = [row for row, text in enumerate(texts) if text == "JS1:"]
    for row, values in zip(rows, _uses(records[rows]).iter_rows(), strict=True):
        packed = zlib.compress(_summary(cluster, attempts, _Use(*values)).encode(), _FASTEST, _GZIP)
        texts[row] = "JS1:" + b64encode(packed).decode()
    return pl.Series("comment", texts)


def _uses(records: pl.DataFrame) -> pl.DataFrame:
    return records.select(
        "attempt",
        "elapsed_s",
        "gpus",
        cores=pl.col("cores") // pl.col("nodes"),
        total_memory=pl.col("mem_mib") // pl.col("nodes") * MIB,
        used_memory=pl.col("seen_kib") * 1024,
        cpu_s=(pl.col("core_mean") * pl.col("elapsed_s") / pl.col("nodes")).round(1),
        touched=pl.col("gpus_touched") // pl.col("nodes"),
        util="gpu_util",
        vram="vram_bytes",
        vram_used="vram_used_bytes",
        driver="driver_bytes",
    )


def _summary(cluster: Cluster, attempts: Attempts, use: _Use) -> str:
    """The JSON text, keys in the order jobstats collects them."""
    nodes = []
    share, rest = divmod(use.used_memory, len(attempts.nodes[use.attempt]))
    for node, cards in zip(attempts.nodes[use.attempt], attempts.gpus[use.attempt], strict=True):
        busy, untouched = cards[: use.touched], cards[use.touched :]
        total = ",".join([f'"{card}":{use.vram}' for card in cards])
        used = [f'"{card}":{use.vram_used}' for card in busy] + [f'"{card}":{use.driver}' for card in untouched]
        util = [f'"{card}":{round(use.util, 1)}' for card in busy] + [f'"{card}":0' for card in untouched]
        nodes.append(
            f'"{cluster.node_names[node]}":{{"total_memory":{use.total_memory},"used_memory":{share + rest},'
            f'"total_time":{use.cpu_s},"cpus":{use.cores},"gpu_total_memory":{{{total}}},'
            f'"gpu_used_memory":{{{",".join(used)}}},"gpu_utilization":{{{",".join(util)}}}}}'
        )
        rest = 0
    return f'{{"nodes":{{{",".join(nodes)}}},"total_time":{use.elapsed_s},"gpus":{use.gpus}}}'
