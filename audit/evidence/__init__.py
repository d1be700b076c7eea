"""Readers: one source a file, each yields canonical rows and rejects. `recognised` says which reads a file."""

from pathlib import Path

import ijson

from audit.evidence import (
    node_events,
    nodes,
    nvidia_smi,
    prometheus,
    sacct_json,
    sacct_text,
    segments,
    source,
    sreport,
)
from audit.evidence.interface import TABLES, Batch, Context, EvidenceError, Reader
from audit.evidence.sacct_rows import OPEN_STATES

__all__ = ["OPEN_STATES", "READERS", "TABLES", "Batch", "Context", "EvidenceError", "recognised"]

READERS: dict[str, Reader] = {
    "sacct text": sacct_text.read,
    "sacct JSON": sacct_json.read,
    "scontrol node text": nodes.read_text,
    "scontrol node JSON": nodes.read_json,
    "sacctmgr events": node_events.read,
    "collector segment": segments.read,
    "Prometheus text": prometheus.read,
    "nvidia-smi XML": nvidia_smi.read,
    "sreport utilization": sreport.read,
}


def recognised(path: Path) -> str:
    """The name of the reader for a file, by its content; EvidenceError where it is empty, binary or none of ours."""
    if segments.is_segment(path):
        return "collector segment"
    where = str(path)
    if path.name.endswith(segments.ENDING):
        what, remedy = "is no whole segment of a collector", "remove it and `audit collect` again"
        raise EvidenceError(what, where=where, remedy=remedy)
    first = source.head(path)
    if not first.strip():
        raise EvidenceError("is empty", where=where, remedy="the command that made it failed; run it again")
    if b"\x00" in first.lstrip().split(b"\n", 1)[0]:
        raise EvidenceError("is binary", where=where, remedy="give text, JSON, or either compressed with gz, xz or zst")
    text = first.decode("utf-8", "replace").removeprefix("\ufeff")
    line = text.lstrip().split("\n", 1)[0]
    if line.startswith("{"):
        return _json_kind(path)
    signs = {
        "scontrol node text": line.startswith("NodeName="),
        "sreport utilization": sreport.is_banner(text),
        "sacctmgr events": node_events.is_header(line),
        "Prometheus text": prometheus.is_capture(text),
        "nvidia-smi XML": nvidia_smi.is_snapshot(text),
    }
    return next((kind for kind, is_shown in signs.items() if is_shown), "sacct text")


def _json_kind(path: Path) -> str:
    """Which list the JSON holds; what stands before it may be long, so it is read as a stream."""
    names = set()
    try:
        with source.opened(path) as stream:
            for prefix, event, value in ijson.parse(source.json_text(stream), use_float=False):
                if prefix == "" and event == "map_key":
                    names.add(value)
                if prefix == "nodes" and event == "start_array":
                    return "scontrol node JSON"
                if (
                    prefix == "jobs.item"
                    and event == "map_key"
                    and value in ("association", "steps", "allocation_nodes")
                ):
                    return "sacct JSON"
                if prefix == "jobs.item" and event == "map_key" and value in ("job_resources", "batch_host"):
                    names.clear()
                    break
    except ijson.JSONError:
        raise source.json_fault(path) from None
    if "jobs" in names and "errors" in names:
        return "sacct JSON"
    raise EvidenceError(
        "is JSON but neither `sacct --json` nor `scontrol show node --json`",
        where=str(path),
        remedy="give one of these",
    )
