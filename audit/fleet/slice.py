"""Which hosts carry a collector: the slice of `audit.toml`, joined to the customer's inventory where one is given."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.errors import AuditError, UsageError
from audit.fleet.ansible import Reach, ask, programs_on_path
from audit.units import hosts
from audit.workspace import HOST, Config, Workspace


@dataclass(frozen=True)
class Target:
    """One host: its name for SSH, its name in Slurm, and what its collector watches (node, controller)."""

    host: str
    node: str
    roles: tuple[str, ...]


def targets(workspace: Workspace, reach: Reach) -> tuple[Target, ...]:
    """The slice's nodes and the controller. UsageError where the slice names no node, or one that is no host name."""
    config = workspace.config
    known = inventory_hosts(reach.inventory) if reach.inventory else ()
    names = (*hosts(config.slice_nodes), *_of_partitions(config, reach))
    if not names and not known:
        raise UsageError(
            "names no node to deploy to",
            where="audit.toml",
            remedy="set slice.nodes, slice.partitions or fleet.inventory",
        )
    nodes = dict.fromkeys(names) if names else {_short(h): None for h in known if h != config.fleet.controller}
    return plan(nodes, known, config.fleet.controller)


def plan(nodes: Iterable[str], known: Iterable[str], controller: str) -> tuple[Target, ...]:
    """One target per host; `known` are the inventory's hosts, which may carry a domain Slurm's names lack."""
    by_name = {_short(host): host for host in known} | {host: host for host in known}
    named: dict[str, str] = {}
    for node in nodes:
        other = named.setdefault(by_name.get(node, node), node)
        if other != node:
            raise UsageError(f"{other} and {node} are one host", remedy="name it once, as Slurm does, in the slice")
    if "localhost" in named and controller != "localhost":
        raise UsageError(
            "localhost is this machine, and the cluster is not",
            remedy="name the nodes in slice.nodes, or set fleet.controller to localhost",
        )
    roles: dict[tuple[str, str], tuple[str, ...]] = dict.fromkeys(named.items(), ("node",))
    at = by_name.get(controller, controller)
    key = next((key for key in roles if at in key), (at, _short(at)))
    roles[key] = (*roles.get(key, ()), "controller")
    wrong = next((name for key in roles for name in key if not HOST.fullmatch(name)), None)
    if wrong is not None:
        raise UsageError(
            f"{wrong!r} is no host name we would hand to Ansible", remedy="mend the slice or the inventory"
        )
    return tuple(Target(host, node, of) for (host, node), of in roles.items())


def _short(host: str) -> str:
    return host.partition(".")[0]


def inventory_hosts(inventory: Path) -> tuple[str, ...]:
    """Every host of an Ansible inventory, as Ansible itself reads it."""
    import ansible_runner

    if not inventory.exists():
        raise UsageError("is not there", where=str(inventory), remedy="mend fleet.inventory in audit.toml")
    if "," in str(inventory.absolute()):
        what = "has a comma in its path, which Ansible takes for a list of hosts"
        raise UsageError(what, where=str(inventory), remedy="rename it")
    programs_on_path()
    listed, error = ansible_runner.get_inventory(
        action="list", inventories=[str(inventory.absolute())], response_format="json", quiet=True
    )
    if not isinstance(listed, dict):
        raise AuditError(f"cannot be read: {str(error).strip()[:300]}", where=str(inventory), remedy="mend it")
    return tuple(sorted(set(_members(listed))))


def _members(groups: Mapping[str, Any]) -> Iterable[str]:
    for name, group in groups.items():
        if name != "_meta":
            yield from group.get("hosts", ())


def _of_partitions(config: Config, reach: Reach) -> tuple[str, ...]:
    if not config.slice_partitions:
        return ()
    controller = config.fleet.controller
    answer = ask("nodes", {controller: {"partitions": list(config.slice_partitions)}}, reach)[controller]
    if not answer.done:
        raise AuditError(
            f"cannot list the nodes of {', '.join(config.slice_partitions)}: {answer.error}", where=controller
        )
    return answer.texts("nodes")
