"""The collector put on many nodes and its segments brought home, beside Ansible saying hello to the same nodes.

The nodes are those of the tests' real cluster: a namespace each with an SSH daemon and a slurmd, on one machine whose
cores they share, so that separate nodes take no longer each. Needs root and the cluster's packages.
Usage: python -m benchmarks.fleet [--nodes N] [--forks N]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import finish
from tests.cluster.cluster import Cluster, up
from tests.cluster.engagement import engagement

MANY = 1000


def hello_s(cluster: Cluster, forks: int) -> float:
    """Seconds that the bare Ansible command takes to run nothing on every node, once."""
    ansible = Path(sys.executable).parent / "ansible"
    start_s = time.monotonic()
    subprocess.run(
        [ansible, "nodes", "-i", cluster.inventory, "-f", str(forks), "-m", "ansible.builtin.raw", "-a", "true"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.monotonic() - start_s


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=32, help="how many nodes to bring up (default 32)")
    parser.add_argument("--forks", type=int, default=32, help="how many nodes Ansible asks at once (default 32)")
    options = parser.parse_args()
    with up(nodes=((1, 0),) * options.nodes) as cluster, tempfile.TemporaryDirectory() as folder:
        window = engagement(cluster, Path(folder) / "window")
        ansible_s = hello_s(cluster, options.forks)
        steps = {}
        for step, words in {
            "deploy": ["deploy"],
            "deploy_again": ["deploy"],
            "status": ["status"],
            "collect": ["collect"],
            "teardown": ["teardown"],
        }.items():
            start_s = time.monotonic()
            ran = window.audit(*words, "--forks", str(options.forks))
            taken_s = time.monotonic() - start_s
            if ran.status:
                print(ran.out, ran.err, file=sys.stderr)
                return 1
            steps[step] = {
                "seconds": round(taken_s, 1),
                "seconds_per_node": round(taken_s / options.nodes, 3),
                "ratio_to_ansible_hello": round(taken_s / ansible_s, 2),
                "minutes_for_1000_nodes": round(taken_s / options.nodes * MANY / 60, 1),
            }
    figures = {
        "benchmark": "fleet",
        "nodes": options.nodes,
        "forks": options.forks,
        "ansible_hello_seconds": round(ansible_s, 1),
        "extrapolated": "the time per node here, times 1000: a sum, not a measurement",
        **steps,
    }
    return finish(figures, passed=True)


if __name__ == "__main__":
    sys.exit(main())
