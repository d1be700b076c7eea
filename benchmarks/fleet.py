"""Deploying to and collecting from many machines: seconds per machine, drawn out to 1,000.

The machines are namespaces on this one, each with its own root, sshd and slurmd (the cluster of the tests), so all of
their work is done by this machine's cores: on a real cluster only the appliance's share of it is left.

Usage: python -m benchmarks.fleet [--machines N] [--forks N]     (as root; scripts/cluster-packages first)
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.measure import finish
from tests.cluster.cluster import up
from tests.cluster.engagement import Engagement, engagement

LIMIT_1000_S = 3600.0  # of each step: an engineer's hour
FEW = 4


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machines", type=int, default=32, help="how many (default 32)")
    parser.add_argument("--forks", type=int, default=16, help="of Ansible's (default 16)")
    options = parser.parse_args()
    steps = {
        "deploy": ["deploy", "--forks", str(options.forks)],
        "deploy_again": ["deploy", "--forks", str(options.forks)],
        "status": ["status", "--forks", str(options.forks)],
        "collect": ["collect", "--telemetry-only", "--forks", str(options.forks)],
        "teardown": ["teardown", "--forks", str(options.forks)],
    }
    with up(nodes=((1, 0),) * options.machines) as cluster, tempfile.TemporaryDirectory() as folder:
        few, all_of_them = (
            engagement(cluster, Path(folder) / str(count), nodes=f"node[1-{count}]", interval_s=60)
            for count in (FEW, options.machines)
        )
        some_s = {name: _took_s(few, words) for name, words in steps.items()}
        whole_s = {name: _took_s(all_of_them, words) for name, words in steps.items()}
    # A step costs so much by itself, and so much for each machine more.
    each_s = {name: (whole_s[name] - some_s[name]) / (options.machines - FEW) for name in steps}
    drawn_out_s = {name: whole_s[name] + each_s[name] * (1000 - options.machines) for name in steps}
    figures = {
        "benchmark": "fleet",
        "machines": options.machines,
        "forks": options.forks,
        "cores": os.cpu_count(),
        "seconds": {name: round(seconds, 1) for name, seconds in whole_s.items()},
        f"seconds_of_{FEW}": {name: round(seconds, 1) for name, seconds in some_s.items()},
        "seconds_per_machine": {name: round(seconds, 3) for name, seconds in each_s.items()},
        "seconds_of_1000": {name: round(seconds) for name, seconds in drawn_out_s.items()},
        "limit_of_1000_s": LIMIT_1000_S,
    }
    return finish(figures, passed=max(drawn_out_s.values()) <= LIMIT_1000_S)


def _took_s(at: Engagement, words: Sequence[str]) -> float:
    """The seconds a verb took; RuntimeError where it did not end well."""
    begun_s = perf_counter()
    ran = at.audit(*words)
    if ran.status:
        raise RuntimeError(f"audit {words[0]}: exit {ran.status}: {ran.err.strip()}")
    return perf_counter() - begun_s


if __name__ == "__main__":
    sys.exit(main())
