"""The sample cluster: its node classes, its nodes, and `scontrol show node -o` of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from audit.errors import UsageError

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class NodeClass:
    """One sort of node. Memory is what Slurm can allocate; `driver_bytes` is what an untouched card shows."""

    prefix: str
    gpu_type: str  # "" without GPUs
    gpus: int
    vram_bytes: int
    driver_bytes: int
    cores: int
    mem_mib: int
    partition: str

    @property
    def name(self) -> str:
        """A short label: `8 x h100` or `cpu`."""
        return f"{self.gpus} x {self.gpu_type}" if self.gpus else "cpu"


H100 = NodeClass("h", "h100", 8, 80 * GIB, 4 * MIB, 96, 1_031_000, "h100")
A100 = NodeClass("a", "a100", 4, 80 * GIB, 4 * MIB, 64, 515_000, "gpu")
L40S = NodeClass("l", "l40s", 4, 45 * GIB, 3 * MIB, 64, 386_000, "gpu")
V100 = NodeClass("v", "v100", 2, 32 * GIB, 3 * MIB, 40, 190_000, "gpu")
T4 = NodeClass("t", "t4", 1, 15 * GIB, 3 * MIB, 16, 94_000, "gpu")
CPU = NodeClass("c", "", 0, 0, 0, 64, 257_000, "cpu")
PREEMPTIBLE_PARTITION = "preempt"
# Which cards the types are whose names fit two: an A100 comes with 40 or 80 GB, a V100 with 16 or 32.
ACCELERATORS = {"a100": "A100-80GB", "v100": "V100-32GB"}


@dataclass(frozen=True)
class Cluster:
    """The nodes, class by class: `nodes[k]` are the indices of the nodes of `classes[k]`."""

    classes: tuple[NodeClass, ...]
    nodes: tuple[tuple[int, ...], ...]
    node_names: tuple[str, ...]
    node_class: tuple[int, ...]

    @property
    def gpus(self) -> int:
        """GPUs in all nodes together."""
        return sum(kind.gpus * len(nodes) for kind, nodes in zip(self.classes, self.nodes, strict=True))

    def partitions(self, node: int) -> list[str]:
        """The partitions node `node` is in, as Slurm lists them."""
        kind = self.classes[self.node_class[node]]
        return [kind.partition, PREEMPTIBLE_PARTITION] if kind.gpus else [kind.partition]


def build(gpus: int) -> Cluster:
    """A cluster of `gpus` GPUs: two fifths H100, two fifths A100, a sixth L40S, the rest older cards.

    A CPU node stands beside every five GPUs. Raises UsageError below one GPU.
    """
    if gpus < 1:
        raise UsageError(f"a sample cluster needs at least 1 GPU, not {gpus}", remedy="raise --gpus")
    h100, a100, l40s = gpus * 2 // 5 // 8, gpus * 2 // 5 // 4, gpus * 4 // 25 // 4
    older = gpus - 8 * h100 - 4 * (a100 + l40s)
    counts = (
        (H100, h100),
        (A100, a100),
        (L40S, l40s),
        (V100, older // 2),
        (T4, older % 2),
        (CPU, max(4, gpus // 5)),
    )
    classes: list[NodeClass] = []
    nodes: list[tuple[int, ...]] = []
    names: list[str] = []
    node_class: list[int] = []
    for kind, count in counts:
        if count:
            nodes.append(tuple(range(len(names), len(names) + count)))
            names += [f"{kind.prefix}{number:03d}" for number in range(1, count + 1)]
            node_class += [len(classes)] * count
            classes.append(kind)
    return Cluster(tuple(classes), tuple(nodes), tuple(names), tuple(node_class))


@dataclass(frozen=True)
class NodeNow:
    """What is allocated on a node, and its state, when the inventory is taken."""

    cores: int
    mem_mib: int
    gpus: int
    state: str  # "" while the node is simply up


def inventory_text(cluster: Cluster, now: Sequence[NodeNow], boot_time: str) -> str:
    """`scontrol show node -o` of every node."""
    return "".join(_node_line(cluster, node, now[node], boot_time) + "\n" for node in range(len(cluster.node_names)))


def _node_line(cluster: Cluster, node: int, now: NodeNow, boot_time: str) -> str:
    kind, name = cluster.classes[cluster.node_class[node]], cluster.node_names[node]
    busy = "ALLOCATED" if now.cores == kind.cores else "MIXED" if now.cores else "IDLE"
    gres = f"gpu:{kind.gpu_type}:{kind.gpus}" if kind.gpus else "(null)"
    gres_used = f"GresUsed=gpu:{kind.gpu_type}:{now.gpus} " if kind.gpus else ""
    gpu_tres = f",gres/gpu={kind.gpus},gres/gpu:{kind.gpu_type}={kind.gpus}" if kind.gpus else ""
    held = f"cpu={now.cores},mem={now.mem_mib}M" if now.cores else ""
    held += f",gres/gpu={now.gpus},gres/gpu:{kind.gpu_type}={now.gpus}" if now.gpus else ""
    feature = kind.gpu_type or "cpu"
    return (
        f"NodeName={name} Arch=x86_64 CoresPerSocket={kind.cores // 2}  CPUAlloc={now.cores} "
        f"CPUEfctv={kind.cores} CPUTot={kind.cores} CPULoad={now.cores:.2f} AvailableFeatures={feature} "
        f"ActiveFeatures={feature} Gres={gres} GresDrain=N/A {gres_used}NodeAddr={name} NodeHostName={name} "
        f"Version=24.11.5 OS=Linux 5.14.0-503.el9.x86_64 #1 SMP PREEMPT_DYNAMIC  RealMemory={kind.mem_mib} "
        f"AllocMem={now.mem_mib} FreeMem={kind.mem_mib - now.mem_mib} Sockets=2 Boards=1 "
        f"State={now.state or busy} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
        f"Partitions={','.join(cluster.partitions(node))}  BootTime={boot_time} "
        f"SlurmdStartTime={boot_time} LastBusyTime={boot_time} ResumeAfterTime=None "
        f"CfgTRES=cpu={kind.cores},mem={kind.mem_mib}M,billing={kind.cores}{gpu_tres} AllocTRES={held} "
        f"CurrentWatts=0 AveWatts=0 "
    )
