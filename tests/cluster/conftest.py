"""One cluster for all tests of this folder that ask for it; they run in one process, one after the other."""

from collections.abc import Iterator
from pathlib import Path

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("cluster"))
