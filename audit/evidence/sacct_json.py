"""Reader of `sacct --json`, 22.05 to 26.05: each job is brought to the text's fields and read as text is."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ijson
import polars as pl

from audit.evidence.interface import Batch, Context
from audit.evidence.sacct_rows import Carry, canonical
from audit.evidence.source import json_fault, json_text, opened

_JOBS_A_BATCH = 4000

Fields = dict[str, str | None]


def read(path: Path, context: Context) -> Iterator[Batch]:
    """The attempts and steps of the file's `jobs`; EvidenceError where it is no whole JSON. `line` is a job's place."""
    with opened(path) as stream:
        carry = Carry()
        try:
            jobs = enumerate(ijson.items(json_text(stream), "jobs.item", use_float=False), 1)
            while many := [pair for pair, _ in zip(jobs, range(_JOBS_A_BATCH), strict=False)]:
                records = [fields for number, job in many for fields in _records(number, job)]
                frame = pl.DataFrame(records, schema=dict.fromkeys(_NAMES, pl.String), orient="row")
                yield canonical(frame.with_columns(pl.col("line").cast(pl.Int64)), context, carry)
        except ijson.JSONError:
            raise json_fault(path) from None


_NAMES = """
    line jobid jobidraw cluster sluid originalsluid user account partition qos jobname submit eligible start end
    elapsedraw suspended state exitcode derivedexitcode timelimitraw nnodes ntasks reqcpus reqmem reqtres
    alloctres nodelist totalcpu maxrss averss tresusageinave tresusageinmax tresusageintot tresusageouttot
    admincomment exclusive
""".split()


def _records(number: int, job: Any) -> Iterator[Fields]:
    if not isinstance(job, dict):
        yield {"line": str(number), "jobid": None, "jobname": str(job)}
        return
    time = _dict(job, "time")
    steps = [step for step in _list(job.get("steps")) if isinstance(step, dict)]
    common = {
        "line": str(number),
        "cluster": _text(job.get("cluster")) or _text(_dict(job, "association").get("cluster")),
    }
    requested, allocated = (_dict(job, "tres").get(kind) for kind in ("requested", "allocated"))
    spent = _cpu_s(time) or (sum(_cpu_s(_dict(step, "time")) or 0 for step in steps) if steps else None)
    raw_id, shown = _text(job.get("job_id")), _job_id(job)
    yield {
        **common,
        "jobid": shown,
        "jobidraw": raw_id,
        "sluid": _text(job.get("sluid")),
        "originalsluid": _text(job.get("original_sluid")),
        "user": _text(job.get("user")) or _text(_dict(job, "association").get("user")),
        "account": _text(job.get("account")),
        "partition": _text(job.get("partition")),
        "qos": _text(job.get("qos")),
        "jobname": _text(job.get("name")),
        **{name: _number(time.get(key)) for name, key in _TIMES.items()},
        "suspended": _number(time.get("suspended")),
        "state": _states(_dict(job, "state").get("current")),
        "exitcode": _exit_code(job.get("exit_code")),
        "derivedexitcode": _exit_code(job.get("derived_exit_code")),
        "timelimitraw": _number(time.get("limit")),
        "nnodes": _positive(job.get("allocation_nodes")) or _one(requested, "node"),
        "reqcpus": _number(_dict(job, "required").get("CPUs")),
        "reqmem": _requested_mem(job, requested),
        "reqtres": _tres(requested, mem_unit="M"),
        "alloctres": _tres(allocated, mem_unit="M"),
        "nodelist": _text(job.get("nodes")),
        "totalcpu": None if spent is None else f"{spent:.6f}",
        "admincomment": _text(_dict(job, "comment").get("administrator")),
        "exclusive": _states(job.get("exclusive")),
    }
    for step in steps:
        yield {**common, **_step(step, shown, raw_id)}


_TIMES = {
    "submit": "submission",
    "eligible": "eligible",
    "start": "start",
    "end": "end",
    "elapsedraw": "elapsed",
}


def _step(step: dict[str, Any], shown: str | None, raw_id: str | None) -> Fields:
    time, tres = _dict(step, "time"), _dict(step, "tres")
    inside, out = _dict(tres, "requested"), _dict(tres, "consumed")
    named = _text(_dict(step, "step").get("id")) or "0"
    step_id = named.partition(".")[2] or named
    spent = _cpu_s(time)
    return {
        "jobid": f"{shown}.{step_id}",
        "jobidraw": f"{raw_id}.{step_id}",
        **{name: _number(time.get(key)) for name, key in _TIMES.items()},
        "suspended": _number(time.get("suspended")),
        "state": _states(step.get("state")),
        "exitcode": _exit_code(step.get("exit_code")),
        "nnodes": _number(_dict(step, "nodes").get("count")),
        "nodelist": _text(_dict(step, "nodes").get("range")),
        "ntasks": _number(_dict(step, "tasks").get("count")),
        "alloctres": _tres(tres.get("allocated"), mem_unit="M"),
        "totalcpu": None if spent is None else f"{spent:.6f}",
        "maxrss": _one(inside.get("max"), "mem"),
        "averss": _one(inside.get("average"), "mem"),
        "tresusageinave": _tres(inside.get("average")),
        "tresusageinmax": _tres(inside.get("max")),
        "tresusageintot": _tres(inside.get("total")),
        "tresusageouttot": _tres(out.get("total")),
    }


def _dict(value: dict[str, Any], key: str) -> dict[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, dict | list) or value == "":
        return None
    whole = isinstance(value, float | Decimal) and value == value.__trunc__()
    return str(int(value) if whole else value).encode("utf-8", "backslashreplace").decode()


def _number(value: Any) -> str | None:
    """A plain number or `{set, infinite, number}`; None where it is unset, infinite or negative."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if isinstance(value, str) and value.isdecimal():
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or value < 0:
        return None
    return str(value)


def _positive(value: Any) -> str | None:
    number = _number(value)
    return None if number is None or float(number) == 0 else number


def _states(value: Any) -> str | None:
    return ",".join(str(item) for item in value) if isinstance(value, list) else _text(value)


def _exit_code(value: Any) -> str | None:
    """`code:signal`. 22.05 (plain numbers) says SUCCESS and 0 of every job that no signal ended: that is not said."""
    if not isinstance(value, dict) or (isinstance(value.get("return_code"), int) and value.get("status") == "SUCCESS"):
        return None
    signal = _dict(value, "signal")
    killed = _number(signal.get("id", signal.get("signal_id"))) or "0"
    return f"{_number(value.get('return_code')) or '0'}:{killed}"


def _job_id(job: dict[str, Any]) -> str | None:
    array, het = _dict(job, "array"), _dict(job, "het")
    parent, task, folded = (
        _number(array.get("job_id")),
        _number(array.get("task_id")),
        _text(array.get("task")),
    )
    if parent and parent != "0":
        return f"{parent}_[{folded}]" if folded and task is None else f"{parent}_{task or 0}"
    leader, offset = _number(het.get("job_id")), _number(het.get("job_offset"))
    if leader and leader != "0":
        return f"{leader}+{offset or 0}"
    return _text(job.get("job_id"))


def _requested_mem(job: dict[str, Any], requested: Any) -> str | None:
    """Over the job: the TRES asked for where it says (22.05's `required.memory` forgets "per core")."""
    total = _one(requested, "mem")
    if total is not None:
        return f"{total}M"
    required = _dict(job, "required")
    for key, unit in (("memory_per_cpu", "c"), ("memory_per_node", "n")):
        if value := _number(required.get(key)):
            return f"{value}M{unit}"
    return None


def _one(items: Any, name: str) -> str | None:
    found = [item for item in _list(items) if isinstance(item, dict) and item.get("type") == name]
    return _number(found[0].get("count")) if found else None


def _tres(items: Any, *, mem_unit: str = "") -> str | None:
    """A TRES list as sacct prints it; counts that are unset or negative left out."""
    parts = []
    for item in _list(items):
        count = _number(item.get("count")) if isinstance(item, dict) else None
        if count is not None:
            name = "/".join(filter(None, (_text(item.get("type")), _text(item.get("name")))))
            parts.append(f"{name}={count}{mem_unit if name == 'mem' else ''}")
    return ",".join(parts) or None


def _cpu_s(time: dict[str, Any]) -> float | None:
    total = _dict(time, "total")
    seconds, micro = (_number(total.get(key)) for key in ("seconds", "microseconds"))
    return None if seconds is None else float(seconds) + float(micro or 0) / 1e6
