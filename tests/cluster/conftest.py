"""One cluster for all tests of this folder that ask for it; they run in one process, one after the other."""

from collections.abc import Iterator

import pytest

from tests.cluster import host
from tests.cluster.cluster import Cluster, rootfs, up


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A real Slurm cluster: controller and three nodes, two of them with four GPU devices."""
    reason = host.why_not(rootfs())
    if reason:
        pytest.skip(f"no cluster here: {reason}")
    with up() as cluster:
        yield cluster
