"""Which card of the price book a GRES type names."""

import pytest

from audit.errors import NoReportError, UsageError
from audit.price_settings import Prices
from audit.pricing import card_label, card_memory_bytes, list_book
from audit.pricing.cards import card_of, physical_cards

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


@pytest.mark.parametrize(
    ("gres", "label", "mem_gib"),
    [
        ("gpu:h100=4", "H100", 80),
        ("gpu:a100_80gb=1,gpu:a100_80gb_3g.40gb=2,shard=4", "A100-80GB", 80),  # a card and its instances are one
        ("gpu:v100=2", None, None),  # 16 or 32 GB: which is not said
        ("gpu:t4=2,gpu:l4=1", None, None),  # two kinds
        ("gpu:t4=2,gpu=1", None, None),  # one of no kind
        ("gpu:a30=2", None, None),  # not in the book
        ("gpu=2", None, None),
        ("shard=4", None, None),
        ("", None, None),
    ],
)
def test_the_one_card_of_a_gres_text_has_a_label_and_a_memory(gres, label, mem_gib):
    assert card_label(gres, Prices(), list_book()) == label
    assert card_memory_bytes(gres, Prices(), list_book()) == (mem_gib and mem_gib * GIB)


def test_a_card_chosen_in_audit_toml_is_the_one():
    chosen = Prices(accelerators={"v100": "V100-32GB"})
    assert card_memory_bytes("gpu:v100=2", chosen, list_book()) == 32 * GIB


@pytest.mark.parametrize(
    ("gres", "cards"),
    [
        ("gpu:a100=4", 4),
        ("gpu:a100_3g.40gb=16", 8),  # two a card
        ("gpu:a100_2g.20gb=24", 8),  # three a card: a seventh is left
        ("gpu:a100_4g.40gb=4", 4),  # one a card
        ("gpu:a100_4g.40gb=1,gpu:a100_3g.40gb=1", 1),
        ("gpu:a100_1g.10gb=56", 8),
        ("gpu:a100=2,gpu:a100_1g.10gb=7", 3),
    ],
)
def test_mig_instances_sit_on_as_few_cards_as_they_fit_on(gres, cards):
    assert physical_cards(gres) == {"a100": cards}
