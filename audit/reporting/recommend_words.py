"""What is said of a family to right-size: one line to tell its user, and the tables of the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from audit.reporting.dollars import dollars
from audit.reporting.hostile import visible
from audit.reporting.numerals import MINUS, count_of, whole
from audit.reporting.won import killed_of
from audit.reporting.wording import listed
from audit.sizing.amounts import clock, shown
from audit.sizing.attempts import TARGETS

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Resource:
    """A resource that a request names: the keys of its amounts, over all nodes, and of what lowering it would win."""

    name: str
    asked: str
    recommended: str
    gross: str
    too_much: str


MEMORY: Final = Resource("memory", "mem_asked_bytes", "mem_recommended_bytes", "memory_gross_usd", "too much memory")
GPUS: Final = Resource("gpus", "gpus_asked", "gpus_recommended", "gpus_gross_usd", "too many GPUs")
CORES: Final = Resource("cores", "cores_asked", "cores_recommended", "cores_gross_usd", "too many cores")
RESOURCES: Final = (MEMORY, GPUS, CORES)


def lower_words(row: Row) -> str:
    """What to tell the user of a family that asks for too much, of what wins dollars: less of the rest is but risk."""
    paying = [one for one in RESOURCES if row[one.gross] > 0]
    asks = [one for one in paying if is_lowered(row, one)]
    idle = [one.name for one in RESOURCES if one not in paying and is_lowered(row, one)]
    above = _above(row, asks)
    words = [_ask(row, asks) if asks else f"Its usual request is right; its larger ones ask for {_too_much(paying)}."]
    if asks and idle:
        words.append(f"Less {listed(idle)} would win nothing there.")
    if above:
        words.append(f"{above:,} of {count_of(row['of_recent'], 'recent attempt')} needed more.")
    if row["short"]:
        words.append(f"{row['short']:,} of {count_of(row['attempts'], 'attempt')} asked for too little.")
    if above or row["short"] or not asks:
        words.append("Size each such job with `audit estimate`.")
    if row["confidence"] == "low":
        words.append("Try it on a few jobs first.")
    return " ".join(words)


def _above(row: Row, asks: Sequence[Resource]) -> int:
    """How many recent attempts needed more than is asked for of them."""
    either = MEMORY in asks and GPUS in asks
    alone = row["memory_above"] if MEMORY in asks else row["gpus_above"] if GPUS in asks else 0
    return int(row["above"] if either else alone)


def _too_much(resources: Sequence[Resource]) -> str:
    return listed([one.too_much for one in resources]) or "too much"


def raise_words(row: Row) -> str:
    """What to tell the user of a family some attempts of which asked for too little."""
    raised = [one for one in (MEMORY, CORES) if row[one.recommended] is not None]
    ask = _ask(row, raised) if raised else "They held as much as a node has: spread them over more nodes."
    did = []
    if row["out_of_memory"]:
        did.append(f"{row['out_of_memory']:,} ran out of memory")
    if over := row["short"] - row["out_of_memory"]:
        did.append(f"{over:,} used more than they held")
    again = ", then look again" if row["out_of_memory"] and raised else ""  # how much more it takes is not known
    return f"{ask.rstrip('.')}{again}. Of {count_of(row['attempts'], 'attempt')} {listed(did)}."


def is_lowered(row: Row, one: Resource) -> bool:
    """Whether less of a resource is recommended than is asked today."""
    asked, recommended = row[one.asked], row[one.recommended]
    return asked is not None and recommended is not None and recommended < asked


def _ask(row: Row, resources: Sequence[Resource]) -> str:
    """Ask for 12 GiB of memory instead of 64 GiB, and 2 GPUs instead of 4: on each node where that can be said."""
    nodes, lead = row["nodes"], "Ask for"
    counts = [row[key] for one in resources for key in (one.asked, one.recommended) if one is not MEMORY]
    if nodes == row["most_nodes"] and not any(count % nodes for count in counts):
        lead = lead if nodes == 1 else f"On each of {nodes:,} nodes ask for"
    else:
        nodes, lead = 1, "Over all nodes ask for"
    parts = []
    for one in resources:
        asked, recommended = (row[key] / nodes for key in (one.asked, one.recommended))
        if one is MEMORY:
            parts.append(f"{amount(one, recommended)} of memory instead of {amount(one, asked)}")
        else:
            noun = "GPU" if one is GPUS else "core"
            many = count_of(int(recommended), noun) if recommended else f"no {noun}"
            parts.append(f"{many} instead of {amount(one, asked)}")
    return f"{lead} {listed(parts)}."


def amount(one: Resource, value: float) -> str:
    """An amount as text: 12.5 GiB, 4."""
    return shown(TARGETS[one.name], value)


def cell(row: Row, one: Resource) -> str:
    """64 GiB → 12 GiB; only what is asked, where nothing else is recommended."""
    asked, recommended = row[one.asked], row[one.recommended]
    if asked is None:
        return "not stated"
    if one is GPUS and not asked:
        return "none"
    if recommended is None or recommended == asked:
        return amount(one, asked)
    short = amount(one, asked).removesuffix(" GiB") if one is MEMORY else amount(one, asked)
    return f"{short} → {amount(one, recommended)}"


def since(change: Row | None) -> str:
    """What changed since the earlier run."""
    if change is None:
        return ""
    if change["is_new"]:
        return "new"
    words = [f"{' and '.join(change['adopted'])} adopted"] if change["adopted"] else []
    if (moved := change["expected_usd_per_month_change"]) is not None and abs(moved) >= 0.5:
        words.append(f"{MINUS if moved < 0 else '+'}${abs(moved):,.0f} a month")
    if change["recommendation_changed"]:
        words.append(f"other advice on {listed(change['recommendation_changed'])}")
    return ", ".join(words) or "as before"


def head(found: Row) -> str:
    """What it comes to, in one sentence."""
    mark = "GENERATED SAMPLE, " if found["generated_sample"] else ""
    return f"{mark}cluster {visible(found['cluster'], 64)}: {finding(found)}"


def finding(found: Row) -> str:
    """How many families, what advice would have won of them, and at which risk."""
    money, many = dollars(found), found["lower_families"]
    if not many:
        return "No family asks for more than it needs by so much that advice given in advance would have won dollars."
    ask = "1 family asks" if many == 1 else f"{many:,} families ask"
    usd = money.prose(found["lower_usd"])
    killed = killed_of(found["killed"], found["tested"])
    return f"{ask} for more than needed: {usd} expected; advice at {found['quantile_name']} would have killed {killed}."


def foot(found: Row) -> list[str]:
    """What is not shown, what the words mean, and with what it was compared."""
    lines = []
    for part in ("lower", "raise"):
        if more := found[f"{part}_families"] - len(found[part]):
            lines.append(f"{more:,} more to {part}: --limit 0 shows all, recommend.csv holds them")
    if found["rest"]["losing_families"]:
        lines.append(losing(found))
    rule = found["confidence_rule"]
    lines += [f"Confidence is high where {rule['high']};", f"low where {rule['low']}; else fair."]
    if found["earlier"] is not None:
        lines.append(f"Compared with the run of {found['earlier']['made']}.")
    return lines


def losing(found: Row) -> str:
    """The families whose requests had better stay: reruns cost more than the advice wins."""
    rest = found["rest"]
    many = "1 family loses" if rest["losing_families"] == 1 else f"{rest['losing_families']:,} families lose"
    return (
        f"{many} by the advice ({dollars(found).prose(rest['losing_usd'])}: reruns cost more than it wins): leave them."
    )


def lower_table(found: Row) -> list[dict[str, str]]:
    """The families to lower as rows of text."""
    money = dollars(found, [row["expected_usd"] for row in found["lower"]])
    table = []
    for place, row in enumerate(found["lower"], start=1):
        table.append(
            {
                "#": str(place),
                **_who(row, found["by"]),
                "attempts": f"{row['attempts']:,}",
                "memory": cell(row, MEMORY),
                "GPUs": cell(row, GPUS),
                "cores": cell(row, CORES),
                "ran (limit)": _walltime(row),
                money.unit: whole(money.cell(row["expected_usd"]) or 0.0),
                "would kill": f"{row['killed']:,} of {row['tested']:,}",
                "confidence": row["confidence"],
                **({"since": since(row["change"])} if found["earlier"] else {}),
            }
        )
    return _aligned(table, {"#", "attempts", money.unit, "would kill"})


def raise_table(found: Row) -> list[dict[str, str]]:
    """The families to raise as rows of text; dollars lost are of the same period as those to win."""
    money = dollars(found, [row["lost_usd"] for row in found["raise"]])
    table = []
    for row in found["raise"]:
        lost = money.cell(row["lost_usd"])
        table.append(
            {
                **_who(row, found["by"]),
                "too little": f"{row['short']:,} of {row['attempts']:,}",
                "out of memory": f"{row['out_of_memory']:,}",
                "memory": "–" if row["mem_asked_bytes"] is None else cell(row, MEMORY),
                "cores": "–" if row["cores_asked"] is None else cell(row, CORES),
                f"lost, {money.unit}": "not known" if lost is None else whole(lost),
            }
        )
    return _aligned(table, {"too little", "out of memory", f"lost, {money.unit}"})


def gone_words(row: Row) -> str:
    """Why a family of the earlier run is not to be lowered any more."""
    adopted = f"{listed(row['adopted'])}: {row['why']}" if row["adopted"] else row["why"]
    return str(adopted)


def _who(row: Row, by: str) -> dict[str, str]:
    user = row["user"] or (count_of(row["users"], "user") if row["users"] else "not stated")
    return {
        "family": row["family"] or "(no name)",
        "account": row["account"] or "(no account)",
        "user": user if by == "user" or row["users"] <= 1 else count_of(row["users"], "user"),
    }


def _walltime(row: Row) -> str:
    """How long nine in ten completed attempts ran at most, and the limit: for information, nothing advises on it."""
    ran, limit = row["walltime_p90_s"], row["time_limit_asked_s"]
    return f"{'–' if ran is None else clock(ran)} ({'–' if limit is None else clock(limit)})"


def _aligned(table: list[dict[str, str]], right: set[str]) -> list[dict[str, str]]:
    """With the columns of numbers, and their heads, filled up on the left."""
    widths = {
        name: max(len(name), *(len(row[name]) for row in table))
        for name in (table[0] if table else ())
        if name in right
    }
    return [
        {name.rjust(widths.get(name, 0)): text.rjust(widths.get(name, 0)) for name, text in row.items()}
        for row in table
    ]
