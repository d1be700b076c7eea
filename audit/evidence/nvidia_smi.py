"""Reader of `nvidia-smi -q -x`: one snapshot of a node's cards, or several one after the other (`-l 60`).

Its time is local and without offset, read in the engagement's time zone. The file says nothing of the node: it has to
be named after it (`NODE__….xml`). No entity is expanded and nothing outside the file is read; what the driver calls
N/A was not measured; instances (MIG) have no utilisation.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import polars as pl

from audit.evidence.interface import REJECT_SCHEMA, Batch, Context, EvidenceError
from audit.evidence.scrapes import MIB, batch, node_of
from audit.evidence.source import opened
from audit.evidence.times import moments

_MOST_BYTES = 64 << 20  # of one snapshot; of 16 cards with all their clocks it takes half a MiB
_MOST_DEPTH = 32
_TOGETHER = 200  # snapshots
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_TIME = re.compile(r"\w{3} (\w{3}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})")
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(?: (?:%|W|MHz|C|MiB))?")
# The bits NVML gives each reason for a slower clock.
_REASONS = {
    "gpu_idle": 1,
    "applications_clocks_setting": 2,
    "sw_power_cap": 4,
    "hw_slowdown": 8,
    "sync_boost": 16,
    "sw_thermal_slowdown": 32,
    "hw_thermal_slowdown": 64,
    "hw_power_brake_slowdown": 128,
    "display_clocks_setting": 256,
}
_CARD: dict[str, Any] = {"node": pl.String, "time": pl.String, "uuid": pl.String} | dict.fromkeys(
    "minor util_mean util_max mem_bytes_max mem_total_bytes mem_reserved_bytes power_w_mean sm_clock_mhz_mean "
    "temperature_c_max throttle_bits ecc_uncorrected ecc_corrected mig".split(),
    pl.Float64,
)
_INSTANCE: dict[str, Any] = {
    "node": pl.String,
    "time": pl.String,
    "uuid": pl.String,
    "mig_uuid": pl.String,
} | dict.fromkeys("gi ci mem_bytes_max mem_total_bytes".split(), pl.Float64)


class _RefusedError(Exception):
    """A document that declares entities or is nested too deeply."""


def is_snapshot(text: str) -> bool:
    """Whether a file's beginning is that of `nvidia-smi -q -x`."""
    return text.lstrip().startswith(("<?xml", "<nvidia_smi_log")) and "<nvidia_smi_log" in text[:4096]


def read(path: Path, context: Context) -> Iterator[Batch]:
    """The cards of each snapshot; one that is no XML, or that declares entities, is a reject."""
    node = node_of(context, str(path))
    cards: list[dict[str, Any]] = []
    instances: list[dict[str, Any]] = []
    rejects: list[tuple[int, str, str]] = []
    with opened(path) as stream:
        for nth, (line, text) in enumerate(_documents(stream), 1):
            try:
                _take(_parsed(text), node, cards, instances)
            except (expat.ExpatError, _RefusedError, ValueError, LookupError) as error:  # an encoding that is none
                rejects.append((line, f"no snapshot of nvidia-smi ({error})"[:200], ""))
            if nth % _TOGETHER == 0:
                yield from _batches(cards, instances, context)
    if rejects:
        yield Batch({"reject_record": pl.DataFrame(rejects, schema=REJECT_SCHEMA, orient="row")})
    yield from _batches(cards, instances, context)


def _documents(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each document with the number of its first line."""
    parts: list[bytes] = []
    first, size = 1, 0
    for number, line in enumerate(iter(lambda: stream.readline(1 << 20), b""), 1):
        if line.lstrip().startswith(b"<?xml") and parts:
            yield first, b"".join(parts)
            parts, first, size = [], number, 0
        size += len(line)
        if size > _MOST_BYTES:
            raise EvidenceError("holds a snapshot of more than 64 MiB", remedy="it is no output of nvidia-smi")
        parts.append(line)
    if b"".join(parts).strip():
        yield first, b"".join(parts)


def _parsed(text: bytes) -> Element:
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(), 0

    def refuse(*_: object) -> None:
        raise _RefusedError("it declares entities")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MOST_DEPTH:
            raise _RefusedError("it is nested too deeply")
        builder.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    parser.EntityDeclHandler = refuse
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, builder.data
    parser.Parse(text.strip(), True)
    return builder.close()


def _take(log: Element, node: str, cards: list[dict[str, Any]], instances: list[dict[str, Any]]) -> None:
    said = _TIME.match((log.findtext("timestamp") or "").strip())
    if log.tag != "nvidia_smi_log" or said is None or said[1] not in _MONTHS:
        raise _RefusedError("it has no timestamp")
    time = f"{said[4]}-{_MONTHS.index(said[1]) + 1:02}-{int(said[2]):02}T{said[3]}"
    for gpu in log.iter("gpu"):
        uuid = (gpu.findtext("uuid") or "").strip()
        if not uuid:
            continue
        in_mig = gpu.findtext("mig_mode/current_mig") == "Enabled"
        util = None if in_mig else _number(gpu, "utilization/gpu_util")
        power = [
            f"{group}/{name}"
            for group in ("gpu_power_readings", "power_readings")
            for name in ("average_power_draw", "power_draw", "instant_power_draw")
        ]
        cards.append(
            {"node": node, "time": time, "uuid": uuid, "minor": _number(gpu, "minor_number"), "mig": float(in_mig)}
            | {"util_mean": util, "util_max": util, "throttle_bits": _reasons(gpu)}
            | _memory(gpu)
            | {"mem_reserved_bytes": _number(gpu, "fb_memory_usage/reserved", MIB)}
            | {"power_w_mean": next((w for name in power if (w := _number(gpu, name)) is not None), None)}
            | {
                "sm_clock_mhz_mean": _number(gpu, "clocks/sm_clock"),
                "temperature_c_max": _number(gpu, "temperature/gpu_temp"),
            }
            | {f"ecc_{kind}": _errors(gpu, kind) for kind in ("uncorrected", "corrected")}
        )
        for device in gpu.iter("mig_device"):
            gi, ci = _number(device, "gpu_instance_id"), _number(device, "compute_instance_id")
            if gi is not None:
                named = {"node": node, "time": time, "uuid": uuid, "mig_uuid": f"{uuid}/{gi:.0f}/{ci or 0:.0f}"}
                instances.append(named | {"gi": gi, "ci": ci} | _memory(device))


def _number(element: Element, path: str, scale: float = 1.0) -> float | None:
    found = _NUMBER.fullmatch((element.findtext(path) or "").strip())
    return float(found[1]) * scale if found else None


def _memory(element: Element) -> dict[str, float | None]:
    names = {"mem_bytes_max": "used", "mem_total_bytes": "total"}
    return {column: _number(element, f"fb_memory_usage/{name}", MIB) for column, name in names.items()}


def _errors(gpu: Element, kind: str) -> float | None:
    ending = "uncorrectable" if kind == "uncorrected" else "_correctable"
    told = [
        value
        for found in gpu.findall("ecc_errors/aggregate/*")
        if found.tag.startswith(("sram", "dram"))
        and (ending in found.tag)
        and (value := _NUMBER.fullmatch((found.text or "").strip()))
    ]
    return sum(float(value[1]) for value in told) if told else None


def _reasons(gpu: Element) -> float | None:
    for group in ("clocks_event_reason", "clocks_throttle_reason"):
        if (found := gpu.find(f"{group}s")) is not None:
            return float(sum(bit for name, bit in _REASONS.items() if found.findtext(f"{group}_{name}") == "Active"))
    return None


def _batches(cards: list[dict[str, Any]], instances: list[dict[str, Any]], context: Context) -> Iterator[Batch]:
    if cards:
        yield batch(_timed(cards, _CARD, context), _timed(instances, _INSTANCE, context), context)
    cards.clear()
    instances.clear()


def _timed(found: list[dict[str, Any]], schema: dict[str, Any], context: Context) -> pl.DataFrame:
    frame = pl.DataFrame(found, schema=schema, orient="row")
    return frame.with_columns(at_time=moments(frame["time"], context.timezone).early).filter(
        pl.col("at_time").is_not_null()
    )
