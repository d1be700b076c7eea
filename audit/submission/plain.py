"""A submission said without a script: `--job 'key=value,…'`, or JSON on standard input."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

from audit.errors import UsageError
from audit.submission import values
from audit.submission.command import running_user
from audit.submission.records import Notes, Request, Submission, clean, shown
from audit.submission.script import split
from audit.submission.shape import request_of

_MOST_BYTES = 2**20
_MOST_SECONDS = 60.0 * 2**32
_MIB = 2**20
_NAMES = ("user", "account", "job_name", "partition", "qos", "constraint", "gpu_type")
_JOB_KEYS = {"name": "job_name", "cpus": "cores", "ntasks": "tasks"} | {
    key: key for key in "user account partition qos constraint nodes mem time gpus array".split()
}
_JSON_KEYS = {"name": "job_name", "cpus": "cores", "ntasks": "tasks"} | {
    key: key
    for key in (
        *_NAMES,
        *"nodes tasks cores mem mem_bytes gpus time time_limit_s array array_tasks exclusive".split(),
    )
}


def from_job(text: str) -> Submission:
    """`user=…,account=…,name=…,cpus=…,mem=…,time=…,gpus=…`: one job; a value with a comma stands in quotes.

    `cpus`, `ntasks` and `gpus` (`2`, `a100:2`) are for the whole job, `mem` for each of its `nodes`, `mem` and `time`
    as sbatch has them. UsageError where a key is unknown or a value cannot be read.
    """
    where = "--job"
    notes = Notes()
    said: dict[str, Any] = {}
    for item in split(clean(text), where, notes, at_commas=True):
        key, equals, value = item.partition("=")
        key = key.strip()
        if not equals:
            raise UsageError(f"{shown(item)} has no =", where=where, remedy="write key=value, and quote commas")
        field = _field(key, said, _JOB_KEYS, where)
        if field == "gpus":
            said |= _cards(value, where)
        elif field in ("nodes", "tasks", "cores"):
            said[field] = _read(values.count, value, key, where)
        else:
            said[field] = value.strip()
    if notes.lines():
        raise UsageError("a quote is not closed", where=where, remedy="close it")
    if not said:
        raise UsageError("says nothing of the job", where=where, remedy="give e.g. 'cpus=4,mem=8G,time=1:00:00'")
    request = _request(said, where)
    return Submission((replace(request, user=request.user or running_user()),), (), (), "job")


def from_json(stream: BinaryIO) -> Submission:
    """One JSON object, or a list of them, with at most 1 MiB of text; a key that is null or absent is not said.

    Keys: those of `Request` (`mem_bytes`, `time_limit_s`, `array_tasks` are totals and numbers; `gpus` a count as
    Slurm counts cards), or sbatch's text as `mem` (a node), `time`, `array`; also `name`, `cpus`, `ntasks`.
    UsageError where it is no such thing.
    """
    where = "standard input"
    body = stream.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        raise UsageError("is larger than 1 MiB", where=where, remedy="give fewer jobs at once")
    try:
        document = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8 text", where=where, remedy="give JSON") from None
    except RecursionError:
        raise UsageError("is nested too deeply", where=where, remedy="give an object or a list of objects") from None
    except ValueError as error:
        raise UsageError(f"is not JSON: {str(error)[:200]}", where=where, remedy="give an object") from None
    items = document if isinstance(document, list) else [document]
    if not items:
        raise UsageError("holds no job", where=where, remedy="give an object or a list of objects")
    requests = []
    for number, item in enumerate(items, start=1):
        place = f"{where}, job {number}" if isinstance(document, list) else where
        if not isinstance(item, dict):
            raise UsageError("a job is no JSON object", where=place, remedy='give e.g. {"cores": 4, "mem": "8G"}')
        requests.append(_request(_typed(item, place), place))
    return Submission(tuple(requests), (), (), "json")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None) if len(set(keys)) < len(keys) else None
    if twice is not None:
        raise ValueError(f"the key {shown(twice)} stands twice")
    return dict(pairs)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _field(key: str, said: Mapping[str, Any], known: Mapping[str, str], where: str) -> str:
    """What a key means; UsageError where it is unknown or says what another one said."""
    field = known.get(key)
    if field is None:
        raise UsageError(f"{shown(key)} is no key", where=where, remedy=f"known are {', '.join(sorted(known))}")
    if field in said:
        raise UsageError(f"{shown(key)} is said twice", where=where, remedy="say it once")
    return field


def _typed(item: dict[str, Any], where: str) -> dict[str, Any]:
    """A JSON object's values, checked for their types."""
    said: dict[str, Any] = {}
    for key, value in item.items():
        field = _field(key, said, _JSON_KEYS, where)
        if value is None:
            continue
        if field == "exclusive":
            good, due = isinstance(value, bool), "true or false"
        elif field in (*_NAMES, "mem", "time", "array"):
            good, due = isinstance(value, str), "text"
        else:
            least = 0 if field == "gpus" else 1
            top = {"mem_bytes": 2**60, "time_limit_s": _MOST_SECONDS}.get(field, 2**31 - 1)
            good = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= top
            good, due = good and (field == "time_limit_s" or value == int(value)), f"a whole number from {least}"
        if not good:
            raise UsageError(f"{shown(key)} is {shown(repr(value))}", where=where, remedy=f"give {due}")
        said[field] = value if isinstance(value, bool) else clean(value) if isinstance(value, str) else _plain(value)
    return said


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def _read(reader: Callable[[str], Any], text: str, key: str, where: str) -> Any:
    found = reader(text.strip())
    if found is None:
        raise UsageError(f"{key}={shown(text)} cannot be read", where=where, remedy="write it as sbatch has it")
    return found


def _cards(text: str, where: str) -> dict[str, Any]:
    cards = _read(values.gpus, text, "gpus", where)
    if len(cards) > 1:
        raise UsageError("gpus names several types", where=where, remedy="name one, e.g. gpus=a100:2")
    return {"gpus": cards[0].number, **({"gpu_type": cards[0].card} if cards[0].card else {})}


def _request(said: Mapping[str, Any], where: str) -> Request:
    """A request from typed fields, with the sbatch options that would say the same."""
    nodes, tasks, cores = (said.get(key) for key in ("nodes", "tasks", "cores"))
    options = {name: str(said[key]) for name, key in (("nodes", "nodes"), ("ntasks", "tasks")) if key in said}
    if cores is not None:
        options["cpus-per-task"] = str(-(-int(cores) // int(tasks or nodes or 1)))
    if "mem_bytes" in said:
        _alone(said, "mem", "mem_bytes", where)
        options["mem"] = f"{-(-said['mem_bytes'] // (int(nodes or 1) * _MIB))}M"
    elif "mem" in said:
        _read(values.mem_mib, said["mem"], "mem", where)
        options["mem"] = said["mem"].strip()
    if "gpus" in said:
        options["gpus"] = ":".join(str(said[key]) for key in ("gpu_type", "gpus") if key in said)
        _read(values.gpus, options["gpus"], "gpus", where)
    if "time_limit_s" in said:
        _alone(said, "time", "time_limit_s", where)
        options["time"] = str(math.ceil(said["time_limit_s"] / 60))
    elif "time" in said:
        _read(values.time_limit_s, said["time"], "time", where)
        options["time"] = said["time"].strip()
    if "array" in said:
        _alone(said, "array_tasks", "array", where)
        _read(values.array_tasks, said["array"], "array", where)
        options["array"] = said["array"].strip()
    request = request_of(options)
    return replace(
        request,
        user=said.get("user") or None,
        account=said.get("account") or None,
        job_name=said.get("job_name") or None,
        partition=said.get("partition") or None,
        qos=said.get("qos") or None,
        constraint=said.get("constraint") or None,
        nodes=nodes,
        tasks=tasks,
        cores=cores,
        mem_bytes=said.get("mem_bytes", request.mem_bytes),
        gpu_type=said.get("gpu_type") or None,
        time_limit_s=said.get("time_limit_s", request.time_limit_s),
        array_tasks=said.get("array_tasks", request.array_tasks),
        exclusive=said.get("exclusive", False),
    )


def _alone(said: Mapping[str, Any], one: str, other: str, where: str) -> None:
    if one in said and other in said:
        raise UsageError(f"{one} and {other} say the same", where=where, remedy="say one of them")
