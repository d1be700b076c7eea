r"""Reader of captured Prometheus text: GPU exporters of a node (nvidia_gpu_exporter's names) and of DCGM.

Any number of scrapes, one after the other. A sample's time is its own timestamp, else that of the comment
`# time: 1777968000` (or an ISO time with offset) before its scrape. Its node is the label Hostname or node, else the
host in `instance`, else the file's name (`NODE__….txt`). DCGM's blanks are dropped; a series that is not there was
not measured; instances (MIG) have no utilisation.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from audit.evidence.interface import REJECT_SCHEMA, Batch, Context, EvidenceError
from audit.evidence.scrapes import MIB, batch, node_of, uuid
from audit.evidence.source import opened
from audit.evidence.telemetry import FIRST_S, LAST_S

_CHUNK_BYTES = 16 << 20
_LIKE = re.compile(r"# (?:HELP|TYPE) \w+ |#\s*time:|(?:nvidia_smi_|DCGM_FI_)\w+[{ ]")
# The name, its labels, the value, its time where it has one; an exemplar after these is none of it.
_LABELS = r'(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?'
_NAMES = rf"^((?:nvidia_smi|DCGM_FI)_\w+){_LABELS}\s+([^\s#]+)(?:\s+([^\s#]+))?\s*(?:#.*)?$"
_TIME = r"^#\s*time:\s*(\S+)"
_SERIES = {  # the column a series fills, and by what its value is multiplied
    "nvidia_smi_utilization_gpu_ratio": ("util_mean", 100.0),
    "nvidia_smi_memory_used_bytes": ("mem_bytes_max", 1.0),
    "nvidia_smi_memory_total_bytes": ("mem_total_bytes", 1.0),
    "nvidia_smi_memory_reserved_bytes": ("mem_reserved_bytes", 1.0),
    "nvidia_smi_power_draw_watts": ("power_w_mean", 1.0),
    "nvidia_smi_clocks_current_sm_clock_hz": ("sm_clock_mhz_mean", 1e-6),
    "nvidia_smi_temperature_gpu": ("temperature_c_max", 1.0),
    "nvidia_smi_clocks_event_reasons_active": ("throttle_bits", 1.0),
    "nvidia_smi_clocks_throttle_reasons_active": ("throttle_bits", 1.0),
    "nvidia_smi_ecc_errors_uncorrected_aggregate_total": ("ecc_uncorrected", 1.0),
    "nvidia_smi_ecc_errors_corrected_aggregate_total": ("ecc_corrected", 1.0),
    "nvidia_smi_mig_mode_current": ("mig", 1.0),
    "nvidia_smi_index": ("index", 1.0),
    "nvidia_smi_compute_apps": ("processes_max", 1.0),
    "DCGM_FI_DEV_GPU_UTIL": ("util_mean", 1.0),
    "DCGM_FI_DEV_FB_USED": ("mem_bytes_max", MIB),
    "DCGM_FI_DEV_FB_TOTAL": ("mem_total_bytes", MIB),
    "DCGM_FI_DEV_FB_RESERVED": ("mem_reserved_bytes", MIB),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w_mean", 1.0),
    "DCGM_FI_DEV_SM_CLOCK": ("sm_clock_mhz_mean", 1.0),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_c_max", 1.0),
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": ("throttle_bits", 1.0),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": ("throttle_bits", 1.0),
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": ("ecc_uncorrected", 1.0),
    "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL": ("ecc_corrected", 1.0),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": ("graphics_active_mean", 1.0),
    "DCGM_FI_PROF_SM_ACTIVE": ("sm_active_mean", 1.0),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": ("tensor_active_mean", 1.0),
    "DCGM_FI_PROF_DRAM_ACTIVE": ("dram_active_mean", 1.0),
}
# DCGM's blanks (32 and 64 bits, floating point), each with its reasons counted up from it; and -1.
_BLANKS = ((2147483632, 2147483647), (140737488355328, 140737488355343), (9223372036854775000, 1e300))


def is_capture(text: str) -> bool:
    """Whether a file begins as a scrape does."""
    return bool(_LIKE.match(text.lstrip()))


def read(path: Path, context: Context) -> Iterator[Batch]:
    """The rows of each scrape; EvidenceError where nothing says when, or on which node, it was made."""
    time: str | None = None
    line, found = 0, 0
    with opened(path) as stream:
        while block := stream.read(_CHUNK_BYTES):
            block += _to_scrape_end(stream)
            text = pl.Series("text", block.decode("utf-8", "backslashreplace").split("\n"), dtype=pl.String)
            frame = pl.DataFrame({"text": text}).with_columns(
                line=pl.int_range(line + 1, line + text.len() + 1),
                told=pl.col("text").str.extract(_TIME).forward_fill().fill_null(pl.lit(time, pl.String)),
            )
            line += text.len() - 1
            time = frame["told"][-1]
            for batch_of_rows in _rows(frame, path, context):
                found += sum(rows.height for rows in batch_of_rows.rows.values())
                yield batch_of_rows
    if not found:
        raise EvidenceError(
            "holds no series of a GPU", where=str(path), remedy="capture nvidia_gpu_exporter's or DCGM's exporter"
        )


def _to_scrape_end(stream: object) -> bytes:
    """What is left of the scrape that a chunk was cut in: up to the next comment that says a time, or a whole line."""
    rest = []
    for part in stream:  # type: ignore[attr-defined]
        rest.append(part)
        if re.match(_TIME.encode(), part) or (not part.startswith(b"#") and re.search(rb"\s\d{9,}(?:\.\d+)?$", part)):
            break
    return b"".join(rest)


def _label(*names: str) -> pl.Expr:
    found = [pl.col("labels").str.extract(rf'(?:^|,)\s*{name}="((?:[^"\\]|\\.)*)"') for name in names]
    return pl.coalesce(pl.when(one != "").then(one) for one in found)


def _rows(frame: pl.DataFrame, path: Path, context: Context) -> Iterator[Batch]:
    ours = frame.filter(pl.col("text").str.contains(r"^(?:nvidia_smi_|DCGM_FI_)"))
    parts = ours.with_columns(
        pl.col("text").str.extract_groups(_NAMES).struct.rename_fields(["name", "labels", "value", "at"]).alias("p")
    ).unnest("p")
    column = pl.col("name").replace_strict({k: v[0] for k, v in _SERIES.items()}, default=None, return_dtype=pl.String)
    scale = pl.col("name").replace_strict({k: v[1] for k, v in _SERIES.items()}, default=None, return_dtype=pl.Float64)
    host = _label("instance").str.replace(r":\d+$", "")
    known = parts.filter(pl.col("name").is_null() | pl.col("name").is_in(list(_SERIES))).with_columns(
        column=column,
        raw=pl.col("value").cast(pl.Float64, strict=False),
        at_time=pl.coalesce(_moment("at"), _moment("told")),
        node=pl.coalesce(
            _label("Hostname", "hostname", "node"),
            pl.when(~host.str.contains(r"^[0-9.]+$|^localhost$")).then(host.str.extract(r"^([^.]+)")),
        ),
        uuid=uuid(_label("UUID", "uuid")),
        gi=_label("GPU_I_ID").cast(pl.Int64, strict=False),
        job=_label("hpc_job"),
        index=_label("gpu").cast(pl.Int64, strict=False),
    )
    wrong = (
        pl.col("name").is_null()
        | pl.col("uuid").is_null()
        | (pl.col("raw").is_null() & ~pl.col("value").str.contains(r"(?i)^\[?n/?a"))
    )
    bad = known.filter(wrong).select(
        "line", pl.lit("a sample without a card's UUID or a number").alias("reason"), "text"
    )
    good = known.filter(~wrong & pl.col("raw").is_finite() & _measured()).with_columns(value=pl.col("raw") * scale)
    if good["at_time"].null_count():
        raise EvidenceError(
            "does not say when it was scraped",
            where=str(path),
            remedy="put a line `# time: <epoch>` before each scrape",
        )
    if good["node"].null_count():
        good = good.with_columns(pl.col("node").fill_null(node_of(context, str(path))))
    yield Batch({"reject_record": bad.with_columns(pl.col("text").str.head(2000)).cast(dict(REJECT_SCHEMA))})  # type: ignore[arg-type]
    if good.height:
        yield batch(
            _pivot(good.filter(pl.col("gi").is_null())), _instances(good.filter(pl.col("gi").is_not_null())), context
        )


def _measured() -> pl.Expr:
    value = pl.col("raw")
    blank = pl.any_horizontal(value.is_between(low, high) for low, high in _BLANKS)
    return ~blank & ((value >= 0) | (pl.col("column") == "temperature_c_max"))


def _moment(name: str) -> pl.Expr:
    number = pl.col(name).cast(pl.Float64, strict=False)
    seconds = pl.when(number > 1e11).then(number / 1000).otherwise(number)
    sound = pl.when(seconds.is_between(FIRST_S, LAST_S)).then(
        (seconds * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    )
    iso = pl.col(name).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%#z", strict=False, time_unit="us", time_zone="UTC")
    return pl.coalesce(sound, iso.dt.replace_time_zone(None))


def _pivot(found: pl.DataFrame) -> pl.DataFrame:
    """One row a card and time: each series in its column; of a card that counts itself in MIG mode no utilisation."""
    key = ["node", "uuid", "at_time"]
    names = dict.fromkeys(column for column, _ in _SERIES.values() if column != "index")
    made = found.group_by(key).agg(
        *(pl.col("value").filter(pl.col("column") == name).max().alias(name) for name in names),
        index=pl.coalesce(
            pl.col("value").filter(pl.col("column") == "index").max().cast(pl.Int64), pl.col("index").max()
        ),
        holder=pl.col("job").drop_nulls().unique().sort().str.join(","),
    )
    in_mig = pl.col("mig").fill_null(0) == 1
    return made.with_columns(
        *(pl.when(~in_mig).then(pl.col(name)).alias(name) for name in ("util_mean", "graphics_active_mean")),
        holder=pl.when(pl.col("holder") != "").then("holder"),
        holder_source=pl.when(pl.col("holder") != "").then(pl.lit("exporter")),
        util_max=pl.when(~in_mig).then("util_mean"),
    )


def _instances(found: pl.DataFrame) -> pl.DataFrame:
    return found.group_by("node", "uuid", "at_time", "gi").agg(
        *(
            pl.col("value").filter(pl.col("column") == name).max().alias(name)
            for name in ("mem_bytes_max", "mem_total_bytes", "sm_active_mean")
        ),
        mig_uuid=pl.col("uuid").first() + "/" + pl.col("gi").first().cast(pl.String),
        holder=pl.col("job").drop_nulls().first(),
    )
