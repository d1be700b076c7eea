"""A family's requests beside its need, resource by resource: the two numbers, and the range mark below them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from audit.reporting.charts import RangeMark, range_mark
from audit.reporting.numerals import whole

UNIT = 44.0  # length of a range mark's "asked", in points
RESOURCES = ("GPUs", "Memory, GiB", "Cores")
_KEYS = {
    "GPUs": ("gpus_asked", "gpus_need_p10", "gpus_need_p90", None),
    "Memory, GiB": ("mem_asked_bytes", "mem_need_p10_bytes", "mem_need_p90_bytes", None),
    "Cores": ("cores_asked", "cores_need_p10", "cores_need_p90", "cores_used_p50"),
}
_GIB = 2**30
_TIB_FROM_GIB = 10_000  # five digits of GiB would run into the next column


@dataclass(frozen=True)
class Request:
    """What one resource's cell says. `asked` None: none was asked; `need` None: not measured, or only as a `mean`."""

    asked: str | None
    need: str | None
    mean: str | None
    mark: RangeMark | None


def request(family: Mapping[str, Any], resource: str) -> Request:
    """The cell of `resource` (one of RESOURCES) in this family's row: asked is the median, need the 90th percentile."""
    in_gib = resource.startswith("Memory")
    asked, low, high, mean = (_value(family, key, in_gib) for key in _KEYS[resource])
    if not asked:
        return Request(None, None, None, None)
    if high is not None:
        seen = f"need 10th to 90th percentile {_text(high if low is None else low, in_gib)} to {_text(high, in_gib)}"
    else:
        seen = "need not measured" if mean is None else f"mean used {_text(mean, in_gib)}"
    known = high is not None or mean is not None
    alt = f"{resource}: {seen}, asked {_text(asked, in_gib)}"
    return Request(
        asked=_text(asked, in_gib),
        need=None if high is None else _text(high, in_gib),
        mean=None if high is not None or mean is None else _text(mean, in_gib),
        mark=range_mark(asked, low, high, mean, unit=UNIT, alt=alt) if known else None,
    )


def _value(family: Mapping[str, Any], key: str | None, in_gib: bool) -> float | None:
    value = family[key] if key else None
    return None if value is None else value / (_GIB if in_gib else 1)


def _text(value: float, in_gib: bool) -> str:
    """A count or GiB: whole from 10 on, one decimal below unless it is whole; TiB where GiB run to five digits."""
    if in_gib and value >= _TIB_FROM_GIB:
        tib = value / 1024
        return f"{tib:,.{max(0, 3 - len(str(int(tib))))}f} TiB"
    if value >= 9.95 or value == int(value):
        return whole(value)
    return f"{value:.1f}" if value >= 0.05 else "<0.1"
