"""Prices of node classes and rates: the list book's rule, vCPUs, and what the site states going first."""

import csv
from pathlib import Path
from statistics import median

import pytest

import audit.pricing
from audit.errors import NoReportError
from audit.price_settings import Prices
from audit.pricing import PriceBook, class_price, gpu_rate, list_book, read_tariff, unbundled_rate
from audit.pricing.book import Instance

GIB = 2**30
LISTED = read_tariff(Prices())
CSV = list(csv.DictReader((Path(audit.pricing.__file__).parent / "prices.csv").open(encoding="utf-8")))


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


IN_THREE = read_tariff(Prices(), THREE)


def rates(tariff):
    return [unbundled_rate(resource, tariff)[1].usd_per_hour for resource in ("core", "mem_gib")]


@pytest.mark.parametrize(
    ("gres", "accelerator", "sizes", "gpus"),
    [
        ("gpu:nvidia_a100_80gb_pcie=4", "A100-80GB", {"80.0"}, 4),
        ("gpu:h100=8", "H100", {"80.0"}, 8),  # 94 GB is another card
        ("gpu:l40s=2", "L40S", {"48.0", "44.7"}, 2),  # the same card, in GB and in GiB
        ("gpu:t4=1", "T4", {"16.0"}, 1),  # the card without a node is no instance
    ],
)
def test_the_list_price_of_a_gpu_node_is_what_the_csv_comes_to(gres, accelerator, sizes, gpus):
    per_gpu = {}
    for row in CSV:
        if row["accelerator"] == accelerator and row["accelerator_memory_gib"] in sizes and float(row["vcpus"]):
            price = float(row["usd_per_hour_on_demand"] or "nan")
            per_gpu.setdefault(row["provider"], []).append(price / float(row["accelerator_count"]))
    medians = [median(prices) for prices in per_gpu.values()]
    rate = class_price(gres, 64, None, GIB, LISTED).rate
    found = (rate.usd_per_hour, rate.low_usd_per_hour, rate.high_usd_per_hour)
    assert found == pytest.approx((gpus * median(medians), gpus * min(medians), gpus * max(medians)))
    assert (rate.provider_names, rate.providers) == (tuple(sorted(per_gpu)), len(per_gpu))


def test_two_providers_prices_of_a_card_meet_in_the_middle():
    # RTX6000-Ada: runpod 1.14; verda the median of 0.8262 and 1.652 / 2 = 0.826: 0.8261. Of the two 0.98305.
    rate = class_price("gpu:rtx_6000_ada_generation=2", 8, None, GIB, LISTED).rate
    assert rate.usd_per_hour == pytest.approx(2 * 0.98305)


def non_negative_fit(rows):
    """Least squares of price on vCPUs and GiB by the normal equations; a coefficient below 0 is 0."""
    vcpus, mem, price = ([float(r[k]) for r in rows] for k in ("vcpus", "memory_gib", "usd_per_hour_on_demand"))
    vv, vm, mm = (sum(x * y for x, y in zip(*pair, strict=True)) for pair in ((vcpus, vcpus), (vcpus, mem), (mem, mem)))
    vp, mp = (sum(x * y for x, y in zip(side, price, strict=True)) for side in (vcpus, mem))
    det = vv * mm - vm * vm
    of_vcpu, of_mem = (vp * mm - vm * mp) / det, (vv * mp - vm * vp) / det
    return (0, mp / mm) if of_vcpu < 0 else (vp / vv, 0) if of_mem < 0 else (of_vcpu, of_mem)


def test_the_list_price_of_a_cpu_node_is_what_the_csv_comes_to():
    by_provider = {}
    for row in CSV:
        if not row["accelerator"] and row["usd_per_hour_on_demand"]:
            by_provider.setdefault(row["provider"], []).append(row)
    fits = [
        non_negative_fit(rows)
        for rows in by_provider.values()
        if len({round(float(r["memory_gib"]) / float(r["vcpus"]), 2) for r in rows}) > 1
    ]
    prices = [128 * of_vcpu + 512 * of_mem for of_vcpu, of_mem in fits]
    found = class_price("", 64, 128, 512 * GIB, LISTED)
    assert found.node_class == "cpu-64c-512GiB"
    rate = found.rate
    ends = (rate.usd_per_hour, rate.low_usd_per_hour, rate.high_usd_per_hour)
    assert ends == pytest.approx((median(prices), min(prices), max(prices)))
    assert rates(LISTED) == pytest.approx([median(f[0] for f in fits), median(f[1] for f in fits)])


def test_a_source_names_rule_card_memory_and_catalogue():
    rate = class_price("gpu:a100_80gb=4", 64, None, GIB, LISTED).rate
    assert {"median", "A100-80GB", "80", "v8/aws@00148f2", "v5/azure@3f5f697"} <= set(
        rate.source.replace(",", " ").replace(";", " ").split()
    )
    assert (rate.basis, rate.as_of) == ("list", None)


def test_a_gpu_node_costs_its_gpus_times_the_median_of_provider_medians():
    found = class_price("gpu:x1=4", 64, None, 512 * GIB, IN_THREE)
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
    with_bare = read_tariff(Prices(), PriceBook((*THREE.instances, Instance(*bare))))
    assert class_price("gpu:x1=4", 64, None, GIB, with_bare) == class_price("gpu:x1=4", 64, None, GIB, IN_THREE)
    only_bare = class_price("gpu:x1=4", 64, None, GIB, read_tariff(Prices(), book(bare)))
    assert only_bare.rate.usd_per_hour == 2
    assert "without the node" in only_bare.rate.source


def test_a_cpu_node_costs_what_the_fits_of_providers_say():
    found = class_price("", 10, None, 100 * GIB, IN_THREE)
    assert found.node_class == "cpu-10c-100GiB"
    assert found.rate.usd_per_hour == pytest.approx((3 + 6) / 2)
    assert (found.rate.low_usd_per_hour, found.rate.high_usd_per_hour) == pytest.approx((3, 6))


@pytest.mark.parametrize(
    ("cores", "vcpus", "usd"),
    [
        (10, None, (10 * 0.1 + 2 + 10 * 0.2 + 4) / 2),  # 100 GiB are 2 with a, 4 with b
        (10, 10, (10 * 0.1 + 2 + 10 * 0.2 + 4) / 2),  # a Slurm CPU is a thread
        (10, 20, (20 * 0.1 + 2 + 20 * 0.2 + 4) / 2),  # a Slurm CPU is a core with two
    ],
)
def test_a_cpu_node_is_priced_by_its_hardware_threads_and_named_by_its_cores(cores, vcpus, usd):
    found = class_price("", cores, vcpus, 100 * GIB, IN_THREE)
    assert (found.node_class, found.rate.usd_per_hour) == ("cpu-10c-100GiB", pytest.approx(usd))


def test_a_fit_never_prices_a_resource_below_nothing():
    cheap_memory = book(("a", "", 0, 0, 2, 4, 2.0), ("a", "", 0, 0, 2, 16, 1.0))
    assert rates(read_tariff(Prices(), cheap_memory)) == [pytest.approx(0.75), 0]


def test_a_gpu_alone_is_its_node_less_vcpus_and_memory():
    # Rates: 0.15 a vCPU, 0.03 a GiB. a, small: 4 - 8 x 0.15 - 64 x 0.03 = 0.88; large: less than its vCPUs
    # and memory, says nothing. b: (20 - 32 x 0.15 - 256 x 0.03) / 4 = 1.88. c: as the large one of a.
    assert rates(IN_THREE) == pytest.approx([0.15, 0.03])
    name, rate = gpu_rate("gpu:x1_40gb=2", IN_THREE)
    assert (name, rate.usd_per_hour, rate.providers) == ("gpu:X1", pytest.approx((0.88 + 1.88) / 2), 2)


def test_mig_instances_are_priced_as_their_part_of_the_card():
    whole = class_price("gpu:a100_80gb=1", 8, None, GIB, LISTED).rate.usd_per_hour
    parts = class_price("gpu:a100_80gb_3g.40gb=2", 8, None, GIB, LISTED)
    assert parts.node_class == "1xA100-80GB"
    assert parts.rate.usd_per_hour == pytest.approx(whole)


def test_two_kinds_of_card_in_a_node_add_up():
    parts = [class_price(f"gpu:{g}", 8, None, GIB, LISTED) for g in ("t4=2", "l4=1", "l4=1,gpu:t4=2")]
    assert parts[2].node_class == "1xL4+2xT4"
    assert parts[2].rate.usd_per_hour == pytest.approx(sum(p.rate.usd_per_hour for p in parts[:2]))


@pytest.mark.parametrize("name", ["4xA100-80GB", "4xa100"])
def test_a_stated_price_goes_first(name):
    prices = Prices(classes={name: 7.5}, accelerators={"a100": "A100-80GB"} if "GB" in name else {})
    rate = class_price("gpu:a100=4", 64, None, 512 * GIB, read_tariff(prices)).rate
    assert (rate.usd_per_hour, rate.low_usd_per_hour, rate.basis, rate.providers) == (7.5, None, "contract", 0)


def test_stated_rates_go_first():
    prices = Prices(unbundled={"core_hour_usd": 0.01, "mem_gib_hour_usd": 0.002, "gpu_hour_usd": 1.5})
    assert rates(read_tariff(prices)) == [0.01, 0.002]
    assert gpu_rate("gpu=3", read_tariff(prices))[1].usd_per_hour == 1.5


@pytest.mark.parametrize("gres", ["gpu=2", "gpu:abacus=1", ""])
def test_gpus_of_no_known_type_have_no_price(gres):
    with pytest.raises(NoReportError, match="gpu_hour_usd"):
        gpu_rate(gres, LISTED)


def test_every_row_of_the_book_is_a_sound_price():
    instances = list_book().instances
    assert len(instances) > 300
    assert all(i.usd_per_hour > 0 and (i.gpus or i.vcpus > 0) for i in instances)
    for card in list_book().cards:
        rate = list_book().gpu_node(card, 1)
        assert 0 < rate.low_usd_per_hour <= rate.usd_per_hour <= rate.high_usd_per_hour
