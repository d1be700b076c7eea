"""Which card of the price book a Slurm GRES type is: `nvidia_a100-sxm4-80gb` is an A100-80GB."""

import math
import re
from collections.abc import Mapping

from audit.errors import NoReportError, UsageError
from audit.price_settings import Prices
from audit.pricing.book import SAME_MEMORY, Card, PriceBook
from audit.toml_table import quote
from audit.units import card_share

_MAKERS = {"nvidia", "amd", "tesla", "geforce", "instinct", "quadro"}
_MIG = re.compile(r"[-_.]?\d+g\.\d+gb.*$")
_SEVENTHS = re.compile(r"(\d+)g\.\d+gb")
_ON_A_CARD = {1: 7, 2: 3, 3: 2, 4: 1, 7: 1}  # instances of one profile, and what each takes of the memory
_MEMORY_EIGHTHS = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}
_GPUS = re.compile(r"(?:^|,)gpu(?::([^=,]+))?=(\d+(?:\.\d+)?)")
GIB = 2**30
_ALIASES = {"h100nvl": 94.0, "v100s": 32.0}  # forms whose name, not a number, tells the card's memory in GiB


def card_of(gres_type: str, book: PriceBook, chosen: Mapping[str, str]) -> Card | None:
    """The card that a GRES type (MIG profiles included) names; None where the book sells none such.

    `chosen` is [prices.accelerators] of audit.toml: GRES type to card label. Raises NoReportError where two
    cards fit and nothing is chosen, UsageError where what is chosen is not in the book.
    """
    plain = without_mig(gres_type)
    choice = next((label for name, label in chosen.items() if name.lower() in (plain, gres_type.lower())), None)
    if choice is not None:
        return _labelled(choice, book)
    name, mem_gib = _family(plain, book)
    if name is None:
        return None
    fitting = [c for c in book.cards if _base(c.accelerator) == name]
    if mem_gib is not None:
        near = [c for c in fitting if abs(c.mem_gib - mem_gib) <= SAME_MEMORY * mem_gib]
        return near[0] if near else None
    names = sorted({c.accelerator for c in fitting})
    if len(names) > 1:
        lines = [f"{quote(plain)} = {quote(c.label)} ({c.mem_gib:g} GB)" for c in fitting]
        raise NoReportError(
            f"GRES type {quote(plain)} fits {' and '.join(names)} in the price book",
            remedy="under [prices.accelerators] in audit.toml write " + " or ".join(lines),
        )
    return max(fitting, key=lambda c: c.instances)


def gpu_counts(gres: str) -> dict[str, float]:
    """Whole-card equivalents by GRES type of a normalised GRES text; type "" where none is named."""
    counts: dict[str, float] = {}
    for card, number in _GPUS.findall(gres):
        counts[card] = counts.get(card, 0.0) + float(number) * card_share(card)
    return counts


def physical_cards(gres: str) -> dict[str, float]:
    """The cards of a node by GRES type, MIG profiles left off: instances sit on as few cards as they fit on."""
    whole: dict[str, float] = {}
    instances: dict[str, dict[int, int]] = {}
    for card, number in _GPUS.findall(gres):
        if profile := _SEVENTHS.search(card):
            of_card = instances.setdefault(without_mig(card), {})
            of_card[int(profile[1])] = of_card.get(int(profile[1]), 0) + int(float(number))
        else:
            whole[card] = whole.get(card, 0.0) + float(number)
    for name, by_profile in instances.items():
        whole[name] = whole.get(name, 0.0) + _cards_under(by_profile)
    return whole


def _cards_under(instances: Mapping[int, int]) -> int:
    """How many cards so many MIG instances need at least, by their sevenths of a card's processors."""
    sevenths = sum(g * number for g, number in instances.items())
    eighths = sum(_MEMORY_EIGHTHS.get(g, g) * number for g, number in instances.items())
    alone = max(math.ceil(number / _ON_A_CARD.get(g, 1)) for g, number in instances.items())
    return max(math.ceil(sevenths / 7), math.ceil(eighths / 8), alone)


def card_label(gres: str, prices: Prices, book: PriceBook) -> str | None:
    """The label of the one card that a normalised GRES text names, MIG instances included (`A100-80GB`).

    None where it names none or several, or which it is cannot be told.
    """
    card = _only_card(gres, prices, book)
    return card.label if card else None


def card_memory_bytes(gres: str, prices: Prices, book: PriceBook) -> int | None:
    """The memory of a whole one of the cards that a normalised GRES text names, by the price book.

    None where it names none or several, or which it is cannot be told.
    """
    card = _only_card(gres, prices, book)
    return round(card.mem_gib * GIB) if card else None


def _only_card(gres: str, prices: Prices, book: PriceBook) -> Card | None:
    try:
        found = {card_of(name, book, prices.accelerators) for name in gpu_counts(gres)}
    except NoReportError:  # two cards fit, and nobody says which
        return None
    return found.pop() if len(found) == 1 else None


def without_mig(gres_type: str) -> str:
    """A GRES type in lower case, less its MIG profile: `a100_3g.20gb` is an `a100`."""
    return _MIG.sub("", gres_type.lower())


def _labelled(label: str, book: PriceBook) -> Card:
    for card in book.cards:
        if card.label.lower() == label.lower():
            return card
    raise UsageError(
        f"prices.accelerators names {quote(label)}, which the price book does not hold",
        where="audit.toml",
        remedy=f"use one of {', '.join(c.label for c in book.cards)}",
    )


def _base(accelerator: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub(r"-\d+GB$", "", accelerator).lower())


def _forms(base: str) -> set[str]:
    """A workstation card goes by its number with and without `rtx`."""
    bare = base.removeprefix("rtx")
    return {base, bare, f"rtx{bare}"} if base.startswith("rtx") or base == "a6000" else {base}


def _family(text: str, book: PriceBook) -> tuple[str | None, float | None]:
    """The card family a normalised type starts with, the longest that does, and the memory it names (GiB)."""
    tokens = [t for t in re.split(r"[^a-z0-9]+", text) if t and t not in _MAKERS]
    joined = "".join(tokens)
    ends = {len("".join(tokens[:n])) for n in range(1, len(tokens) + 1)}
    known = {form: base for base in {_base(c.accelerator) for c in book.cards} for form in _forms(base)}
    for form in sorted(known, key=len, reverse=True):
        rest = joined.removeprefix(form)
        if joined.startswith(form) and (not re.match(r"\d(?!\d*g)", rest) or len(form) in ends):
            alias = next((mem for name, mem in _ALIASES.items() if joined.startswith(name)), None)
            return known[form], alias or _memory(tokens, rest)
    return None, None


def _memory(tokens: list[str], rest: str) -> float | None:
    for token in (*tokens[1:], rest):
        if match := re.fullmatch(r"(\d{1,3})(?:gb?)?(?:hbm\d?e?)?", token):
            return float(match[1])
    return None
