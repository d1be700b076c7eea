"""Amounts of targets as a person reads them."""

from audit.sizing.attempts import Target

_GIB = 2**30


def shown(target: Target, amount: float | None) -> str:
    """`12.5 GiB`, `1-02:00:00`, `4`, `37 %`; `–` where it is not known."""
    if amount is None:
        return "–"
    if target.unit == "bytes":
        return f"{amount / _GIB:.3g} GiB" if amount < 1000 * _GIB else f"{amount / _GIB:,.0f} GiB"
    if target.unit == "seconds":
        return clock(amount)
    if target.unit == "percent":
        return f"{amount:.0f} %"
    return f"{amount:.3g}" if amount < 1000 else f"{amount:,.0f}"


def clock(seconds: float) -> str:
    """`H:MM:SS`, with days before it where there are any."""
    whole = round(min(seconds, 1e15))
    days, rest = divmod(whole, 86_400)
    text = f"{rest // 3600}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{text.zfill(8)}" if days else text
