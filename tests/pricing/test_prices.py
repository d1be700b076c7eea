"""Prices: medians over providers, cards told by GRES type, and what audit.toml states going first."""

import pytest

from audit.errors import NoReportError, UsageError
from audit.pricing import PriceBook, class_price, gpu_rate, list_book, unbundled_rates
from audit.pricing.book import Instance
from audit.pricing.cards import card_of
from audit.workspace import Prices

GIB = 2**30

CARDS = {
    "h100": "H100",
    "nvidia_h100_80gb_hbm3": "H100",
    "h100_nvl": "H100-94GB",
    "h200": "H200",
    "a100_80gb": "A100-80GB",
    "a100_80": "A100-80GB",
    "nvidia_a100-sxm4-40gb": "A100",
    "nvidia_a100_80gb_pcie_1g.10gb": "A100-80GB",
    "tesla_v100-sxm2-32gb": "V100-32GB",
    "l4": "L4",
    "l40": "L40",
    "L40S": "L40S",
    "a10": "A10",
    "a10g": "A10G",
    "t4": "T4",
    "rtx_a6000": "A6000",
    "a4000": "RTXA4000",
    "geforce_rtx_3090": "RTX3090",
    "quadro_rtx_6000": "RTX6000",
    "rtx_6000_ada_generation": "RTX6000-Ada",
    "mi300x": "MI300X",
    "p40": None,
    "a30": None,
    "gtx1080ti": None,
    "gpu": None,
    "": None,
}


@pytest.mark.parametrize("gres_type, label", CARDS.items())
def test_a_gres_type_names_a_card(gres_type, label):
    card = card_of(gres_type, list_book(), {})
    assert (card.label if card else None) == label


@pytest.mark.parametrize("gres_type", ["a100", "a100_3g.20gb", "v100"])
def test_a_type_that_fits_two_cards_needs_a_line_in_audit_toml(gres_type):
    with pytest.raises(NoReportError, match=r"\[prices.accelerators\]"):
        card_of(gres_type, list_book(), {})
    chosen = {"a100": "A100-80GB", "v100": "V100"}
    assert card_of(gres_type, list_book(), chosen).label in chosen.values()


def test_a_card_that_the_book_does_not_hold_cannot_be_chosen():
    with pytest.raises(UsageError, match='"B9000"'):
        card_of("a100", list_book(), {"a100": "B9000"})


def book(*rows):
    return PriceBook(Instance(*row) for row in rows)


THREE = book(
    # provider, card, GPUs, GPU GiB, vCPUs, GiB, US dollars an hour
    ("a", "X1", 8, 40.0, 64, 512, 16.0),  # 2 a GPU
    ("a", "X1", 1, 40.0, 8, 64, 4.0),  # 4 a GPU: a's median is 3
    ("b", "X1", 4, 39.0, 32, 256, 20.0),  # 5 a GPU, the same card told in GiB less
    ("c", "X1", 2, 40.0, 16, 128, 2.0),  # 1 a GPU
    ("c", "X1", 2, 80.0, 16, 128, 200.0),  # another memory size: another card
    ("a", "", 0, 0.0, 2, 4, 0.28),  # 0.1 a vCPU + 0.02 a GiB
    ("a", "", 0, 0.0, 2, 8, 0.36),
    ("a", "", 0, 0.0, 4, 8, 0.56),
    ("b", "", 0, 0.0, 2, 4, 0.56),  # 0.2 and 0.04
    ("b", "", 0, 0.0, 2, 8, 0.72),
    ("c", "", 0, 0.0, 2, 4, 9.0),  # one ratio of GiB to vCPU: the two cannot be told apart
    ("c", "", 0, 0.0, 4, 8, 18.0),
)


def test_a_gpu_node_costs_its_gpus_times_the_median_of_provider_medians():
    found = class_price("gpu:x1=4", 64, 512 * GIB, Prices(), THREE)
    assert found.node_class == "4xX1"
    rate = found.rate
    assert (rate.usd_per_hour, rate.low_usd_per_hour, rate.high_usd_per_hour, rate.providers) == (
        12,
        4,
        20,
        3,
    )


def test_a_card_sold_without_a_node_says_nothing_of_what_a_node_costs():
    bare = ("d", "X1", 1, 40.0, 0, 0, 0.5)
    with_bare = PriceBook((*THREE.instances, Instance(*bare)))
    assert class_price("gpu:x1=4", 64, GIB, Prices(), with_bare) == class_price("gpu:x1=4", 64, GIB, Prices(), THREE)
    only_bare = class_price("gpu:x1=4", 64, GIB, Prices(), book(bare))
    assert only_bare.rate.usd_per_hour == 2
    assert "without the node" in only_bare.rate.source


def test_a_cpu_node_costs_what_the_fits_of_providers_say():
    found = class_price("", 10, 100 * GIB, Prices(), THREE)
    assert found.node_class == "cpu-10c-100GiB"
    assert found.rate.usd_per_hour == pytest.approx((3 + 6) / 2)
    assert (found.rate.low_usd_per_hour, found.rate.high_usd_per_hour) == pytest.approx((3, 6))


def test_a_fit_never_prices_a_resource_below_nothing():
    cheap_memory = book(("a", "", 0, 0, 2, 4, 2.0), ("a", "", 0, 0, 2, 16, 1.0))
    core, mem = unbundled_rates(Prices(), cheap_memory)
    assert core.usd_per_hour == pytest.approx(0.75)
    assert mem.usd_per_hour == 0


def test_a_gpu_alone_is_its_node_less_vcpus_and_memory():
    # Rates: 0.15 a vCPU, 0.03 a GiB. a, small: 4 - 8 x 0.15 - 64 x 0.03 = 0.88; large: less than its vCPUs
    # and memory, says nothing. b: (20 - 32 x 0.15 - 256 x 0.03) / 4 = 1.88. c: as the large one of a.
    core, mem = unbundled_rates(Prices(), THREE)
    assert (core.usd_per_hour, mem.usd_per_hour) == pytest.approx((0.15, 0.03))
    name, rate = gpu_rate("gpu:x1_40gb=2", Prices(), THREE)
    assert (name, rate.usd_per_hour, rate.providers) == ("gpu:X1", pytest.approx((0.88 + 1.88) / 2), 2)


def test_mig_instances_are_priced_as_their_part_of_the_card():
    whole = class_price("gpu:a100_80gb=1", 8, GIB, Prices(), list_book()).rate.usd_per_hour
    parts = class_price("gpu:a100_80gb_3g.40gb=2", 8, GIB, Prices(), list_book())
    assert parts.node_class == "1xA100-80GB"
    assert parts.rate.usd_per_hour == pytest.approx(whole)


def test_two_kinds_of_card_in_a_node_add_up():
    parts = [class_price(f"gpu:{g}", 8, GIB, Prices(), list_book()) for g in ("t4=2", "l4=1", "l4=1,gpu:t4=2")]
    assert parts[2].node_class == "1xL4+2xT4"
    assert parts[2].rate.usd_per_hour == pytest.approx(sum(p.rate.usd_per_hour for p in parts[:2]))


@pytest.mark.parametrize("name", ["4xA100-80GB", "4xa100"])
def test_a_stated_price_goes_first(name):
    prices = Prices(classes={name: 7.5}, accelerators={"a100": "A100-80GB"} if "GB" in name else {})
    rate = class_price("gpu:a100=4", 64, 512 * GIB, prices, list_book()).rate
    assert (rate.usd_per_hour, rate.low_usd_per_hour, rate.source.split(",")[0]) == (7.5, None, "audit.toml")


def test_stated_rates_go_first():
    prices = Prices(unbundled={"core_hour_usd": 0.01, "mem_gib_hour_usd": 0.002, "gpu_hour_usd": 1.5})
    assert [r.usd_per_hour for r in unbundled_rates(prices, list_book())] == [0.01, 0.002]
    assert gpu_rate("gpu=3", prices, list_book())[1].usd_per_hour == 1.5


@pytest.mark.parametrize("gres", ["gpu=2", "gpu:abacus=1", ""])
def test_gpus_of_no_known_type_have_no_price(gres):
    with pytest.raises(NoReportError, match="gpu_hour_usd"):
        gpu_rate(gres, Prices(), list_book())


def test_every_row_of_the_book_is_a_sound_price():
    instances = list_book().instances
    assert len(instances) > 300
    assert all(i.usd_per_hour > 0 and (i.gpus or i.vcpus > 0) for i in instances)
    for card in list_book().cards:
        rate = list_book().gpu_node(card, 1)
        assert 0 < rate.low_usd_per_hour <= rate.usd_per_hour <= rate.high_usd_per_hour
