"""Advice as the sbatch options to type: in the form in which the submission asked."""

import math
import shlex
from collections.abc import Mapping

from audit.submission import values
from audit.submission.records import Request
from audit.submission.shape import GPU_OPTIONS, MEM_OPTIONS, Shape, shape_of, share

_MIB = 2**20
_SLACK = 1e-9  # relative: a share of a card, such as 3/7, is no exact float
_RANKS = {"ntasks-per-gpu", "gpus-per-task", "tres-per-task"}  # with these, fewer tasks are fewer GPUs


def advised_options(
    request: Request,
    *,
    mem_bytes: float | None = None,
    cores: float | None = None,
    gpus: float | None = None,
    time_limit_s: float | None = None,
) -> list[str]:
    """The options that ask for these totals over the job's nodes, quoted for a shell; None leaves a request as it is.

    Per CPU stays per CPU, `--gres` keeps its type and its other resources, and so on. Amounts are rounded up (memory
    to MiB, time to minutes, the rest to whole numbers a task or node), so that submitted after the job's own options
    they ask for at least what is advised; memory that hangs on the cores keeps its total. An option that would change
    nothing is left out, and so is a resource whose form is ambiguous or could not be read: it stays as asked.
    """
    said = dict(request.options)
    before = shape_of(said)
    told: dict[str, str] = {}
    if gpus is not None:
        told |= _kept(said, _gpus(said, before, gpus), "gpus", gpus)
    shape = shape_of(said | told)
    wanted = cores if cores is not None else (before.cores if shape.cores != before.cores else None)
    if wanted is not None:
        told |= _kept(said | told, _cores(said, shape, wanted), "cores", wanted)
    shape = shape_of(said | told)
    wanted = mem_bytes if mem_bytes is not None else (before.mem_bytes if shape.mem_bytes != before.mem_bytes else None)
    if wanted is not None:
        told |= _kept(said | told, _memory(said, shape, wanted), "mem_bytes", wanted)
    if time_limit_s is not None:
        told |= _kept(said, {"time": _clock(time_limit_s)}, "time_limit_s", time_limit_s)
    return [shlex.quote(f"--{name}={value}") for name, value in told.items()]


def _kept(said: Mapping[str, str], offer: dict[str, str], amount: str, wanted: float) -> dict[str, str]:
    """The offer, if read back it gives at least what is wanted, and not just what was asked for anyway."""
    found, before = (getattr(shape_of(options), amount) for options in ({**said, **offer}, said))
    enough = found is not None and found >= wanted * (1 - _SLACK)
    return offer if enough and found != before else {}


def _whole(amount: float, parts: int | None) -> int | None:
    """The amount in whole parts, rounded up; None where how many parts there are is not known."""
    return math.ceil(amount / parts * (1 - _SLACK)) if parts else None


def _gpus(said: Mapping[str, str], shape: Shape, gpus: float) -> dict[str, str]:
    items = values.gres(said.get("gres", "none"))
    if items is None:
        return {}
    others = [
        f"{item.kind}:{item.card}:{item.number}" if item.card else f"{item.kind}:{item.number}"
        for item in items
        if item.kind != "gpu"
    ]
    forms = [name for name in GPU_OPTIONS if name in said and (name != "gres" or len(others) < len(items))]
    form = forms[0] if forms else "gres"
    cards = [item for item in items if item.kind == "gpu"] if form == "gres" else values.gpus(said[form])
    if len(forms) > 1 or cards is None or len(cards) > 1 or {"tres-per-task", "ntasks-per-gpu"} & said.keys():
        return {}
    card = cards[0].card if cards else None
    sockets = values.count(said.get("sockets-per-node", ""))
    parts = {"gpus": 1, "gpus-per-task": shape.tasks, "gpus-per-socket": sockets and (shape.on_nodes or 0) * sockets}
    count = _whole(gpus / share(card), parts.get(form, shape.on_nodes))
    if count is None or (not count and {"cpus-per-gpu", "mem-per-gpu"} & said.keys()):
        return {}  # per GPU of none would be nothing
    text = f"{card}:{count}" if card and count else str(count)
    if form == "gres":
        text = ",".join([*others, *([f"gpu:{text}"] if count else [])]) or "none"
    return {form: text}


def _cores(said: Mapping[str, str], shape: Shape, cores: float) -> dict[str, str]:
    """Fewer cores a task, or, where each task has one, fewer tasks (a whole number on each node)."""
    offer: dict[str, int | None] = {}
    by_node = _whole(cores, shape.on_nodes)
    if "mincpus" in said and by_node:
        offer["mincpus"] = by_node
    if "tres-per-task" in said:
        return {}
    if "cpus-per-gpu" in said and "cpus-per-task" not in said:
        offer["cpus-per-gpu"] = _whole(cores, shape.cards)
    elif said.get("cpus-per-task", "1") != "1" or shape.tasks is None or shape.tasks <= (shape.on_nodes or 0):
        offer["cpus-per-task"] = _whole(cores, shape.tasks)
    elif _RANKS & said.keys() or {"ntasks", "ntasks-per-node"} <= said.keys():
        return {}
    elif by_node and shape.on_nodes:
        name, nodes = ("ntasks", shape.on_nodes) if "ntasks" in said else ("ntasks-per-node", 1)
        offer[name] = by_node * nodes
    return {name: str(max(1, number)) for name, number in offer.items() if number is not None}


def _memory(said: Mapping[str, str], shape: Shape, mem_bytes: float) -> dict[str, str]:
    forms = [name for name in said if name in MEM_OPTIONS]
    spread = shape.nodes is None and shape.on_nodes is not None  # Slurm chooses the nodes: only per core is sure
    form = forms[-1] if forms else "mem-per-cpu" if spread else "mem"
    parts = {"mem": shape.on_nodes, "mem-per-cpu": shape.cores, "mem-per-gpu": shape.cards}[form]
    if not parts:
        return {}
    mib = max(1, -(-math.ceil(mem_bytes) // (parts * _MIB)))  # 0 would be all of the node's
    return {form: f"{mib // 1024}G" if mib % 1024 == 0 else f"{mib}M"}


def _clock(seconds: float) -> str:
    minutes = max(1, math.ceil(seconds / 60))
    return f"{minutes // 1440}-{minutes // 60 % 24:02d}:{minutes % 60:02d}:00"
