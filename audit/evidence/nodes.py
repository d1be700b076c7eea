"""Readers of the node inventory: `scontrol show node` as text (long or one-line) and as JSON."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ijson
import polars as pl

from audit import units
from audit.evidence.interface import NODE_SCHEMA, REJECT_SCHEMA, Batch, Context
from audit.evidence.source import json_fault, json_text, opened
from audit.evidence.times import moments

_MIB = 1 << 20
_UNSET = 2**31  # what is larger is one of Slurm's "no value"; no node has as many MiB or CPUs
_UNSET_16 = 2**16 - 2  # the same of Slurm's 16-bit counts
_PAIR = re.compile(r"(?:^|\s)([A-Z]\w*)=(.*?)(?=\s+[A-Z]\w*=|\s*$)", re.S)
_SEEN = ("LastBusyTime", "SlurmdStartTime", "BootTime")


def read_text(path: Path, context: Context) -> Iterator[Batch]:
    """The nodes of `scontrol show node` [-o] [-d]."""
    with opened(path) as stream:
        text = stream.read().decode("utf-8", "backslashreplace").removeprefix("\ufeff")
    found, rejects = [], []
    for block in re.finditer(r"^NodeName=.*?(?=^NodeName=|\Z)", text, re.M | re.S):
        said = dict(reversed(_PAIR.findall(block[0].strip())))  # the first of a name: a reason may hold others
        line = text.count("\n", 0, block.start()) + 1
        row = _from_text(said)
        if why := _unfit(row, said.get("State", "")):
            rejects.append((line, why, block[0].strip()))
            continue
        found.append(row | {"times": [said.get(name, "") for name in _SEEN]})
    times = moments(pl.Series([t for row in found for t in row.pop("times")], dtype=pl.String), context.timezone)
    yield _batch(found, times.early.max(), context, rejects)


def _from_text(said: dict[str, str]) -> dict[str, Any]:
    total, threads = _count(said.get("CPUTot")), _count(said.get("ThreadsPerCore")) or 1
    usable = _count(said.get("CPUEfctv"))
    if usable is None and total is not None:
        usable = total - (_count(said.get("CoreSpecCount")) or 0) * threads
    return _row(
        said["NodeName"].strip(),
        usable,
        _vcpus(total, *(_count(said.get(name)) for name in ("Sockets", "CoresPerSocket", "ThreadsPerCore"))),
        _count(said.get("RealMemory")),
        _count(said.get("MemSpecLimit")),
        said.get("Gres"),
        threads,
        said.get("Partitions", "").strip().split(","),
    )


def read_json(path: Path, context: Context) -> Iterator[Batch]:
    """The nodes of `scontrol show node --json` or `sinfo`'s REST twin."""
    found, rejects, times = [], [], []
    with opened(path) as stream:
        try:
            for place, node in enumerate(ijson.items(json_text(stream), "nodes.item", use_float=False), 1):
                name = node.get("name") if isinstance(node, dict) else None
                if not isinstance(name, str) or not name:
                    rejects.append((place, "a node without name", str(node)))
                    continue
                row = _from_json(name, node)
                if why := _unfit(row, str(node.get("state", ""))):
                    rejects.append((place, why, name))
                    continue
                found.append(row)
                times += [_value(node.get(key)) for key in ("last_busy", "slurmd_start_time", "boot_time")]
        except ijson.JSONError:
            raise json_fault(path) from None
    known = [t for t in times if t]
    seen = moments(pl.Series([str(int(max(known)))] if known else [""]), "UTC").early[0]
    yield _batch(found, seen, context, rejects)


def _from_json(name: str, node: dict[str, Any]) -> dict[str, Any]:
    usable = _value(node.get("effective_cpus")) or _value(node.get("cpus"))
    listed = node.get("partitions")
    parts = listed.split(",") if isinstance(listed, str) else listed if isinstance(listed, list) else []
    threads = _value(node.get("threads")) or 1
    spared = _value(node.get("specialized_memory"))
    vcpus = _vcpus(_value(node.get("cpus")), *(_value(node.get(key)) for key in ("sockets", "cores", "threads")))
    return _row(name, usable, vcpus, _value(node.get("real_memory")), spared, node.get("gres"), threads, parts)


def _vcpus(total: float | None, sockets: float | None, cores: float | None, threads: float | None) -> float | None:
    """The hardware threads of a node, all of it: sockets x cores a socket x threads a core; NULL where not told.

    A Slurm CPU (`total`) is a thread, a core or a socket: where it is none of them they contradict, and it counts.
    """
    if not total or not sockets or not cores or not threads or max(sockets, cores, threads) >= _UNSET_16:
        return None
    whole = sockets * cores * threads
    return whole if total in (whole, sockets * cores, sockets) else total


def _unfit(row: dict[str, Any], state: str) -> str | None:
    """Why a node is none that jobs can be given; None where it is one."""
    if "FUTURE" in state.upper():
        return "a node that is not there yet (FUTURE)"
    if not row["cores"] or not row["mem_bytes"] or row["mem_bytes"] < 0:
        return "a node without CPUs or memory"
    return None


def _row(
    name: str,
    cores: float | None,
    vcpus: float | None,
    mem_mib: float | None,
    spared_mib: float | None,
    gres: Any,
    threads: float,
    parts: list[str],
) -> dict[str, Any]:
    kept = units.node_gres(str(gres or ""))
    mem = None if mem_mib is None else int((mem_mib - (spared_mib or 0)) * _MIB)
    return {
        "node": name,
        "cores": cores,
        "vcpus": vcpus,
        "mem_bytes": mem,
        **kept,
        "gpu_type": units.gpu_type(str(kept["gres"])),
        "threads_per_core": int(threads),
        "partitions": ",".join(sorted({str(p) for p in parts if p})) or None,
    }


def _batch(rows: list[dict[str, Any]], seen: Any, context: Context, rejects: list[tuple[int, str, str]]) -> Batch:
    shared = {"cluster": context.cluster, "seen": seen}
    frame = pl.DataFrame([row | shared for row in rows], schema=NODE_SCHEMA)
    return Batch({"node_record": frame, "reject_record": pl.DataFrame(rejects, schema=REJECT_SCHEMA, orient="row")})


def _count(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\d{1,12}", text.strip()) else None


def _value(value: Any) -> float | None:
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    ok = isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value < _UNSET
    return float(value) if ok else None
