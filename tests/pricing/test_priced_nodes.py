"""Nodes of a cluster priced: by the hardware threads their inventory tells, and by the site's own book."""

from pathlib import Path

import pytest

from audit.errors import NoReportError
from audit.price_settings import Prices
from audit.pricing import list_book
from tests.accounting.cluster import Cluster


def cluster(*vcpus: float | None, prices: Prices | None = None) -> Cluster:
    """Nodes of 64 cores and 256 GiB, one for each number of hardware threads, one attempt on each."""
    made = Cluster(prices=prices or Prices())
    for place, threads in enumerate(vcpus, 1):
        made.node(f"n{place}", cores=64, mem_gib=256, vcpus=threads)
        made.job(str(place), 0, 1, nodes=f"n{place}")
    return made


@pytest.mark.parametrize(
    ("vcpus", "counted"),
    [
        ((128, 128), 128),
        ((None, None), 64),  # not told: one a Slurm CPU
        ((None, 128), 128),  # one class, one price: what is told of it
        ((128, 64), 64),  # one class, one price: the fewer
    ],
)
def test_nodes_of_a_class_are_priced_by_their_hardware_threads(vcpus: tuple[float | None, ...], counted: float) -> None:
    (price,) = cluster(*vcpus).report()["prices"]
    assert (price["node_class"], price["nodes"]) == ("cpu-64c-256GiB", 2)
    assert price["usd_per_hour"] == pytest.approx(list_book().cpu_node(counted, 256, "").usd_per_hour)


def test_the_site_s_book_prices_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('currency = "EUR"\nusd_per_unit = 1.1\n[node_hour]\n"cpu-64c-256GiB" = 2\n')
    found = cluster(128, prices=Prices(book="my.toml", folder=tmp_path)).report()
    assert found["cost"]["installed_usd"] == pytest.approx(10 * 2.2)  # ten hours


def test_all_that_the_site_s_book_lacks_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text("[node_hour]\nother = 2\n")
    lacking = cluster(128, prices=Prices(book="my.toml", folder=tmp_path))
    lacking.node("g1", gpus=4)
    lacking.job("9", 0, 1, nodes="g1", gpus=4)
    with pytest.raises(NoReportError) as caught:
        lacking.report()
    assert {"4xT4", "cpu-64c-256GiB"} <= set(str(caught.value).split('"'))
