"""jobstats summaries in `AdminComment` (`JS1:` and base64 of gzipped JSON): per-GPU use inside accounting.

`JS1:Short` and `JS1:None` mean none; a damaged comment or a GPU without a value is not measured.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Iterator
from typing import Any

import polars as pl

from audit.evidence.interface import GPU_SCHEMA

_MARK = "JS1:"
_MOST_BYTES = 16 << 20  # a summary of a few thousand nodes; more is hostile


def gpu_rows(jobs: pl.DataFrame) -> pl.DataFrame:
    """One row a GPU, and one a node, of the summaries in `admincomment`; keys as in `jobs`."""
    told = jobs.filter(
        pl.col("admincomment").str.starts_with(_MARK) & (pl.col("admincomment").str.len_bytes() > len("JS1:Short"))
    )
    rows = [
        (*key, *row)
        for *key, comment in told.select("cluster", "job_id_raw", "submit", "admincomment").iter_rows()
        for row in _rows(comment)
    ]
    return pl.DataFrame(rows, schema=GPU_SCHEMA, orient="row")


def _rows(comment: str) -> Iterator[tuple[Any, ...]]:
    for name, seen in _summary(comment).items():
        node = name.encode("utf-8", "backslashreplace").decode()  # JSON can spell half of a surrogate pair
        if not isinstance(seen, dict):
            continue
        yield node, None, None, None, None, _count(seen.get("used_memory")), _amount(seen.get("total_time"))
        maps = [seen.get(name) for name in ("gpu_utilization", "gpu_used_memory", "gpu_total_memory")]
        util, used, total = (value if isinstance(value, dict) else {} for value in maps)
        for gpu in sorted({*util, *used, *total}):
            yield node, gpu, _percent(util.get(gpu)), _count(used.get(gpu)), _count(total.get(gpu)), None, None


def _summary(comment: str) -> dict[str, Any]:
    try:
        packed = base64.b64decode(comment[len(_MARK) :], validate=False)
        whole = json.loads(zlib.decompressobj(wbits=47).decompress(packed, _MOST_BYTES))
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        return {}
    nodes = whole.get("nodes") if isinstance(whole, dict) else None
    return nodes if isinstance(nodes, dict) else {}


def _percent(value: Any) -> float | None:
    amount = _amount(value)
    return amount if amount is not None and amount <= 100 else None


def _amount(value: Any) -> float | None:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**62
    return float(value) if ok else None


def _count(value: Any) -> int | None:
    amount = _amount(value)
    return None if amount is None else int(amount)
