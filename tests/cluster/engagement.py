"""An engagement's folder against the test cluster, and the command as an engineer runs it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.cluster import Cluster

CHECKOUT = Path(__file__).resolve().parents[2]
TOML = """\
cluster = "{cluster}"
timezone = "UTC"
[slice]
nodes = "{nodes}"
[prices.accelerators]
a100 = "A100-80GB"
[fleet]
controller = "ctl"
inventory = "{inventory}"
sample_s = 1
interval_s = {interval_s}
"""


@dataclass(frozen=True)
class Ran:
    """How the command ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Engagement:
    """A folder with an `audit.toml` for the cluster."""

    root: Path

    def audit(self, *words: str, env: dict[str, str] | None = None) -> Ran:
        argv = [sys.executable, "-m", "audit", *words, "--dir", self.root]
        environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), **(env or {})}
        done = subprocess.run(
            argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def segments(self, host: str) -> set[str]:
        """The names of the segments of a host that are home."""
        folder = self.root / "evidence/telemetry" / host
        return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def engagement(cluster: Cluster, root: Path, *, nodes: str | None = None, interval_s: int = 5) -> Engagement:
    """Makes the folder; the slice is every node unless said otherwise."""
    root.mkdir(parents=True, exist_ok=True)
    name = cluster.run("ctl", ["sh", "-c", "scontrol show config | sed -n 's/^ClusterName *= //p'"]).stdout.strip()
    text = TOML.format(
        cluster=name, nodes=nodes or ",".join(cluster.nodes), inventory=cluster.inventory, interval_s=interval_s
    )
    (root / "audit.toml").write_text(text)
    return Engagement(root)
