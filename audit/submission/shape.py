"""How much a set of sbatch options asks for: nodes, tasks, cores, memory, GPUs, as Slurm adds them up."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.submission import values
from audit.submission.records import Request
from audit.submission.values import Cards

READERS: dict[str, Callable[[str], Any]] = {
    "nodes": values.nodes,
    **dict.fromkeys(
        "ntasks cpus-per-task ntasks-per-node ntasks-per-gpu cpus-per-gpu mincpus sockets-per-node".split(),
        values.count,
    ),
    **dict.fromkeys("mem mem-per-cpu mem-per-gpu".split(), values.mem_mib),
    **dict.fromkeys("gpus gpus-per-node gpus-per-task gpus-per-socket".split(), values.gpus),
    "gres": values.gres,
    "tres-per-task": values.tres_per_task,
    "time": values.time_limit_s,
    "array": values.array_tasks,
}
MEM_OPTIONS = ("mem", "mem-per-cpu", "mem-per-gpu")
GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres")
_MIB = 2**20
_MOST_BYTES = 2**63 - 1  # of what the store can hold


@dataclass(frozen=True)
class Shape:
    """What is asked for in total; None where it is not said or cannot be read."""

    nodes: int | None  # None too where Slurm may choose
    on_nodes: int | None  # the nodes that per-node amounts were multiplied by
    tasks: int | None
    cores: int | None
    mem_bytes: int | None
    whole_node_mem: bool
    gpus: float | None  # whole-card equivalents
    gpu_type: str | None
    cards: int | None  # GPUs as Slurm counts them: MIG instances too
    shards: float | None
    time_limit_s: float | None  # inf where it is said to be unlimited
    array_tasks: int | None
    per_node_on_one: bool  # per-node amounts are said, how many nodes is not, and they may be several


def times(*factors: int | None) -> int | None:
    """The product; None where a factor is not known, unless another is 0."""
    if 0 in factors:
        return 0
    known = [factor for factor in factors if factor is not None]
    return math.prod(known) if len(known) == len(factors) else None


def shape_of(options: Mapping[str, str]) -> Shape:
    """The shape that options (long name to value, the last one said standing last) add up to. Total.

    Tasks and cores have Slurm's defaults: one task a node, one core a task.
    """
    told = {name: READERS[name](text) for name, text in options.items() if name in READERS}
    told = {**(told.get("tres-per-task") or {}), **told}
    nodes, on_nodes = _nodes(told)
    free = _cards(told, on_nodes, None)  # what does not hang on the number of tasks
    tasks = _tasks(told, on_nodes, _number(free))
    cards = _cards(told, on_nodes, tasks)
    cores = _cores(told, on_nodes, tasks, _number(cards))
    per_node = {"mem", "gres", "gpus-per-node"} & told.keys()
    mem_bytes, whole = _mem_bytes(told, on_nodes, cores, _number(cards))
    return Shape(
        nodes=nodes,
        on_nodes=on_nodes,
        tasks=tasks,
        cores=cores,
        mem_bytes=mem_bytes,
        whole_node_mem=whole,
        gpus=None if cards is None else sum(each.number * share(each.card) for each in cards),
        gpu_type=max(cards, key=lambda each: each.number).card if cards else None,
        cards=_number(cards),
        shards=times(_number(_of_kind(told.get("gres", ()), ("shard", "mps"))), on_nodes),
        time_limit_s=told.get("time"),
        array_tasks=told.get("array"),
        per_node_on_one=bool(per_node) and nodes is None and on_nodes == 1,
    )


def request_of(options: Mapping[str, str]) -> Request:
    """A request with the amounts that options add up to, and nothing else."""
    shape = shape_of(options)
    limit = shape.time_limit_s
    return Request(
        nodes=shape.nodes,
        tasks=shape.tasks,
        cores=shape.cores,
        mem_bytes=shape.mem_bytes,
        whole_node_mem=shape.whole_node_mem,
        gpus=shape.gpus,
        gpu_type=shape.gpu_type,
        shards=shape.shards,
        time_limit_s=None if limit == math.inf else limit,
        array_tasks=shape.array_tasks,
        options=tuple(options.items()),
    )


def share(card: str | None) -> float:
    """What a card of this type is of a whole one: less than 1 of a MIG instance such as `a100_3g.20gb`."""
    if card is None or "g." not in card.lower():
        return 1.0
    from audit.units import card_share  # brings polars: only a request for MIG instances waits for it

    return card_share(card)


def _nodes(told: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Nodes as said or as they follow from tasks or GPUs per node; and what to multiply by."""
    if "nodes" in told:
        nodes, tasks = told["nodes"], told.get("ntasks")
        nodes = min(nodes, tasks) if nodes and tasks else nodes  # as sbatch does: no node without a task
        return nodes, nodes
    for total, each in (("ntasks", "ntasks-per-node"), ("gpus", "gpus-per-node")):
        if total in told and each in told:
            whole, part = (_number(told[name]) if total == "gpus" else told[name] for name in (total, each))
            found = -(-whole // part) if whole and part else None
            return found, found
    several = told.get("ntasks", 1) != 1 or "ntasks-per-gpu" in told or (_number(told.get("gpus", ())) or 0) > 1
    return (None if several else 1), 1


def _tasks(told: Mapping[str, Any], nodes: int | None, cards: int | None) -> int | None:
    if "ntasks" in told:
        return told["ntasks"]  # type: ignore[no-any-return]
    if "ntasks-per-node" in told:
        return times(told["ntasks-per-node"], nodes)
    if "ntasks-per-gpu" in told and cards != 0:
        return times(told["ntasks-per-gpu"], cards)
    if "gpus-per-task" in told and "gpus" in told:
        whole, part = _number(told["gpus"]), _number(told["gpus-per-task"])
        return max(1, whole // part) if whole is not None and part else None
    return nodes


def _cores(told: Mapping[str, Any], nodes: int | None, tasks: int | None, cards: int | None) -> int | None:
    by_task = times(tasks, told.get("cpus-per-task", 1))
    by_card = times(cards, told["cpus-per-gpu"]) if "cpus-per-gpu" in told and "cpus-per-task" not in told else 0
    by_node = times(nodes, told.get("mincpus", 1))
    if by_task is None or by_card is None or by_node is None:
        return None
    return max(by_task, by_card, by_node)


def _cards(told: Mapping[str, Any], nodes: int | None, tasks: int | None) -> list[Cards] | None:
    """The GPUs asked for in total; of several ways to say it, the one for the whole job, then the per-node one."""
    factors: dict[str, tuple[int | None, ...]] = {
        "gpus": (),
        "gpus-per-node": (nodes,),
        "gpus-per-task": (tasks,),
        "gpus-per-socket": (nodes, told.get("sockets-per-node")),
        "gres": (nodes,),
    }
    for name in GPU_OPTIONS:
        if name not in told:
            continue
        cards = _of_kind(told[name], ("gpu",))
        if cards is None:
            return None
        found = []
        for each in cards:
            many = times(each.number, *factors[name])
            if many is None:
                return None
            found.append(each._replace(number=many))
        if found:
            return found
    if "ntasks-per-gpu" in told and "ntasks" in told:
        tasks_each = told["ntasks-per-gpu"]
        return [Cards("gpu", None, -(-tasks // tasks_each))] if tasks and tasks_each else None
    return []


def _of_kind(items: tuple[Cards, ...] | None, kinds: tuple[str, ...]) -> tuple[Cards, ...] | None:
    return None if items is None else tuple(item for item in items if item.kind in kinds)


def _number(cards: list[Cards] | tuple[Cards, ...] | None) -> int | None:
    return None if cards is None else sum(each.number for each in cards)


def _mem_bytes(
    told: Mapping[str, Any], nodes: int | None, cores: int | None, cards: int | None
) -> tuple[int | None, bool]:
    """Memory in total; and whether all of the nodes' memory is asked for. Of contradictory ones the last is meant."""
    said = [name for name in told if name in MEM_OPTIONS]
    if not said:
        return None, False
    per, many = told[said[-1]], {"mem": nodes, "mem-per-cpu": cores, "mem-per-gpu": cards}[said[-1]]
    total = times(per, many, _MIB) or None
    return (total if total and total <= _MOST_BYTES else None), per == 0
