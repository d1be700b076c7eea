"""Two windows side by side: the figures of each by the same definitions, prices and policy, and what changed.

Windows differ in length, so dollars are a month's where both are long enough for one, else per hour of the window.
"""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from audit.accounting.rows import Row, less, ratio, times
from audit.errors import UsageError
from audit.price_settings import LIST, Prices
from audit.workspace import Workspace, find_workspace, to_utc

_USAGE = "give two folders of engagements, or two windows such as 2026-05-01..2026-05-15"
_DOLLARS = {
    "installed": "cost.installed_usd",
    "capacity": "cost.capacity_usd",
    "down": "cost.down_usd",
    "idle": "cost.idle_usd",
    "held": "cost.held_usd",
    "used": "cost.used_usd",
    "kept": "cost.kept_usd",
    "not measured": "cost.not_measured_usd",
    "lost": "cost.lost_usd",
}
_EXPECTED = {
    "recoverable, expected": "recoverable.expected_usd",
    "  gross": "recoverable.expected_gross_usd",
    "  reruns": "recoverable.reruns_usd",
    "recoverable, low": "recoverable.low_usd",
}  # where a model was replayed over either window
_CEILING = {"recoverable, at most": "recoverable.high_usd"}  # and below it by resource
_HELD = {"core": "cores held", "gpu": "GPUs held", "mem_gib": "GiB of memory held"}
_RESOURCES = {  # by resource: the hours held of it, what is known of a family's need
    "gpus": ("gpu", "gpus_need_p90"),
    "memory": ("mem_gib", "mem_need_p90_bytes"),
    "cores": ("core", "cores_need_p90"),
}
_SHARES = {"cost.lost_usd": "lost share of held", "recoverable.high_usd": "recoverable share of held"}
# A figure as text, by unit; all others have two places.
_PLACES = {"share": "{:{}z.1%}", "points": "{:{}z.1f} points", "usd_per_month": "{:{}z,.0f}"}


def side(asked: str, folder: Path) -> Workspace:
    """What was asked for: the engagement in that folder, or the one in `folder` in the window FROM..TO.

    Bounds are read as in `audit.toml`. UsageError: neither of them, a window that ends before it begins.
    """
    if Path(asked).is_dir():
        return find_workspace(Path(asked))
    try:
        start, end = map(datetime.fromisoformat, asked.split(".."))
    except ValueError:
        raise UsageError("is no folder, and no window either", where=asked, remedy=_USAGE) from None
    here = find_workspace(folder)
    bounds = [to_utc(moment, here.config.timezone) for moment in (start, end)]
    if bounds[0] >= bounds[1]:
        raise UsageError("ends before it begins", where=asked, remedy="a window is from inclusive, to exclusive")
    return replace(here, config=replace(here.config, window_from=bounds[0], window_to=bounds[1]))


def alike(a: Workspace, b: Workspace) -> tuple[Workspace, list[str]]:
    """B as it is to be reckoned: with A's prices and policy; and a line that says so where its own are other ones."""
    own = {"prices": _stated(a.config.prices) != _stated(b.config.prices), "policy": a.config.policy != b.config.policy}
    told = [f"B is reckoned with the {name} of A, not with its own" for name, is_other in own.items() if is_other]
    return replace(b, config=replace(b.config, prices=a.config.prices, policy=a.config.policy)), told


def comparison(a: Row, b: Row) -> Row:
    """Both windows and every figure of the two reports with its change; a change from or to None, or of 0, is None.

    `change_share` is the change as a share of A. `notes` are lines about what bends the comparison.
    """
    monthly = a["window"]["month_factor"] is not None and b["window"]["month_factor"] is not None
    advised = any(side["recoverable"]["expected_usd"] is not None for side in (a, b))
    pairs = zip(*(_figures(side, monthly, advised=advised) for side in (a, b)), strict=True)
    return {
        "a": _about(a),
        "b": _about(b),
        "dollars_per": "month" if monthly else "hour",
        "figures": [_change(one, other) for one, other in pairs],
        "notes": _notes(a, b),
    }


def comparison_table(found: Row) -> list[Row]:
    """The figures as text, aligned to the right: what is None is not measured, and a change of it has no basis."""
    table = [
        {
            "figure": row["label"],
            "A": _text(row["a"], row["unit"]),
            "B": _text(row["b"], row["unit"]),
            "change": _text(row["change"], "points" if row["unit"] == "share" else row["unit"], "+", "no basis"),
            "change %": _text(row["change_share"], "share", "+", "no basis"),
        }
        for row in found["figures"]
    ]
    widths = {name: max(len(name), *(len(row[name]) for row in table)) for name in table[0] if name != "figure"}
    return [
        {"figure": row["figure"], **{name.rjust(width): row[name].rjust(width) for name, width in widths.items()}}
        for row in table
    ]


def comparison_lines(found: Row) -> tuple[list[str], list[str]]:
    """Lines before the table (which windows, which scale) and after it (why a figure is not measured)."""
    head = [_window_line(name, found[name.lower()]) for name in ("A", "B")]
    scale = (
        "a month"
        if found["dollars_per"] == "month"
        else "per hour of the window: one of them says too little of a month"
    )
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in found["figures"]:
        for name in ("A", "B"):
            if row[f"{name.lower()}_reason"]:
                reasons.setdefault((name, row[f"{name.lower()}_reason"]), []).append(row["label"].strip())
    foot = [f"{name}, {', '.join(labels)}: {why}" for (name, why), labels in reasons.items()]
    return [*head, f"dollars are {scale}; cores, GPUs and GiB held are means over the window"], foot


def _stated(prices: Prices) -> tuple[Prices, bytes | None]:
    """What is stated of prices, wherever it stands: the site's own book counts by what is in it."""
    if prices.book == LIST:
        return replace(prices, folder=Path()), None
    try:
        book = (prices.folder / prices.book).read_bytes()
    except OSError:
        book = None  # said where it has to be read
    return replace(prices, book="", folder=Path()), book


def _figures(report: Row, monthly: bool, *, advised: bool) -> list[Row]:
    """Every figure on the scale that two windows share: key, label, unit, value, and the reason where that is None."""
    hours = report["window"]["observed_hours"]
    factor, unit = (report["window"]["month_factor"], "usd_per_month") if monthly else (1 / hours, "usd_per_hour")
    reasons = {
        "recoverable.high_usd": "nothing was measured",
        "coverage.usd": report["coverage"]["reason"],
        **report["reasons"],
    }

    def figure(key: str, label: str, unit: str, value: float | None, why: str | None) -> Row:
        steady = None if value is None else float(f"{value:.10g}")
        reason = (why or "not measured") if value is None else None
        return {"figure": key, "label": label, "unit": unit, "value": steady, "reason": reason}

    usd_of = _DOLLARS | (_EXPECTED if advised else {}) | _CEILING
    found = [figure(k, label, unit, times(_at(report, k), factor), reasons.get(k)) for label, k in usd_of.items()]
    for resource in _RESOURCES:
        usd, why = times(_through(report, resource), factor), "no attempt's need of it was measured"
        found.append(figure(f"recoverable_by_resource.{resource}", f"  through {resource}", unit, usd, why))
    for short, label in _HELD.items():
        key, held = f"hours.held.{short}", report["hours"]["held"][short]
        found.append(figure(key, label, f"{short}_hours_per_hour", ratio(held, hours), reasons.get(key)))
    measured = report["coverage"]["usd"]
    found.append(figure("coverage.usd", "measured share of held", "share", measured, reasons["coverage.usd"]))
    found.append(figure("attempts", "attempts a day", "attempts_per_day", report["attempts"] / hours * 24, None))
    shares = {**_SHARES, "recoverable.expected_usd": "expected share of held"} if advised else _SHARES
    for key, label in shares.items():
        share = ratio(_at(report, key), report["cost"]["held_usd"])
        found.append(figure(f"{key}.share_of_held", label, "share", share, reasons.get(key)))
    if advised:
        kills = report["recoverable"]["kills"] or {}
        killed = ratio(kills.get("killed"), kills.get("of"))
        label = "would have been killed, of those advised less"
        found.append(figure("recoverable.kills.share", label, "share", killed, reasons.get("recoverable.kills")))
    return found


def _at(report: Row, key: str) -> float | None:
    section, name = key.split(".")
    value: float | None = report[section][name]
    return value


def _through(report: Row, resource: str) -> float | None:
    """Recoverable dollars by the resource asked in smaller numbers; None where nothing tells what was needed of it."""
    short, need = _RESOURCES[resource]
    is_known = any(family[need] is not None for family in report["families"]) or report["hours"]["held"][short] == 0
    if report["recoverable"]["high_usd"] is None or not is_known:
        return None
    return sum((r["usd"] for r in report["recoverable_by_resource"] if r["resource"] == resource), 0.0)


def _change(a: Row, b: Row) -> Row:
    change = less(b["value"], a["value"])
    named = {key: a[key] for key in ("figure", "label", "unit")}
    values = {"a": a["value"], "b": b["value"], "change": change, "change_share": ratio(change, a["value"])}
    return {**named, **values, "a_reason": a["reason"], "b_reason": b["reason"]}


def _about(report: Row) -> Row:
    window = {key: report["window"][key] for key in ("from", "to", "hours", "month_factor")}
    return {"cluster": report["cluster"], "generated_sample": report["generated_sample"], **window}


def _notes(a: Row, b: Row) -> list[str]:
    notes = []
    if a["cluster"] != b["cluster"]:
        notes.append(f"A is of cluster {a['cluster']}, B of cluster {b['cluster']}")
    elif max(a["window"]["from"], b["window"]["from"]) < min(a["window"]["to"], b["window"]["to"]):
        notes.append("the windows overlap: what lies in both counts in both")
    return notes + [
        f"{name}: no headline: {report['coverage']['reason']}"
        for name, report in (("A", a), ("B", b))
        if not report["coverage"]["headline_allowed"]
    ]


def _window_line(name: str, about: Row) -> str:
    mark = "GENERATED SAMPLE, " if about["generated_sample"] else ""
    return f"{name}: {mark}cluster {about['cluster']}, {about['from']} to {about['to']}, {about['hours']:.10g} hours"


def _text(value: float | None, unit: str, sign: str = "", unknown: str = "not measured") -> str:
    if unit == "points" and value is not None:
        value *= 100
    return unknown if value is None else _PLACES.get(unit, "{:{}z,.2f}").format(value, sign)
