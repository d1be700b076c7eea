"""Slurm's text to numbers: sizes, durations, TRES, GRES, job ids, host lists. Pure and total.

Each function takes a column of text and answers a column of numbers of the same length; what cannot be
read, is a sentinel, or says "no value" is NULL, never 0. Nothing raises on any input.
"""

import re
from collections.abc import Callable
from itertools import product

import polars as pl

_NO_LIMIT_S = 3.2e9  # a century; Slurm prints more only as garbage (AveCPU of a 26.05 .extern)
_UNSET = [2.0**32 - 2, 2.0**32 - 1]  # the same in 32 bits
_NO_SIZE = 2.0**63  # 2^64-1, 2^64-2 and their like mean infinite and unset
_PER_CPU_FLAG = 2**31  # MEM_PER_CPU of older Slurm, left in ReqMem's megabytes
_PER_CPU_FLAG_64 = 2**63  # MEM_PER_CPU of newer Slurm
_MAX_HOSTS = 20_000  # of one list: no cluster has more, and a hostile list must not fill the memory
_UNITS = {"K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50, "E": 2.0**60}
_SAMPLE = 1000  # values of a column that show whether they repeat


def by_value(text: pl.Series, read: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """`read` applied to a column, once for each distinct value where values repeat."""
    if text.len() < _SAMPLE or text.head(_SAMPLE).n_unique() * 3 > _SAMPLE:
        return read(text)
    distinct = text.unique()
    if distinct.len() * 3 > text.len():
        return read(text)
    answers = pl.DataFrame({"text": distinct, "answer": read(distinct)})
    joined = text.to_frame("text").join(answers, on="text", how="left", nulls_equal=True, maintain_order="left")
    return joined["answer"]


def number(text: pl.Series) -> pl.Series:
    """A plain decimal number; NULL where it is none, negative, or one of Slurm's "unset" and "infinite"."""
    value = text.cast(pl.Float64, strict=False)
    ok = (value >= 0) & (value < _NO_SIZE) & ~value.is_in(_UNSET)
    return _keep(value, ok)


def mem_bytes(text: pl.Series) -> pl.Series:
    """A size such as `85399.46K`, `1.50T`, `53386581` (bytes) in bytes; binary units."""
    return by_value(text, _mem_bytes)


def _mem_bytes(text: pl.Series) -> pl.Series:
    factor = _factor(text.str.slice(-1))
    digits = pl.when(pl.col("factor") > 1).then(pl.col("text").str.head(-1)).otherwise("text")
    size = digits.cast(pl.Float64, strict=False) * pl.col("factor")
    told = (pl.col("size") >= 0) & (pl.col("size") < _NO_SIZE)
    unset = (pl.col("size") / pl.col("factor")).is_in(_UNSET)
    kept = pl.when(told & ~unset).then("size")
    frame = pl.DataFrame({"text": text, "factor": factor}).select("factor", size=size)
    return frame.select(kept.round().cast(pl.Int64).alias("bytes"))["bytes"]


def _factor(letter: pl.Series) -> pl.Series:
    """What a unit's letter multiplies by; 1 where it is none."""
    factor = pl.lit(1.0)
    for unit in letter.unique().drop_nulls().to_list():
        if unit.upper() in _UNITS:
            factor = pl.when(pl.col("letter") == unit).then(_UNITS[unit.upper()]).otherwise(factor)
    return letter.to_frame("letter").with_columns(factor.alias("factor"))["factor"]


def req_mem_bytes(text: pl.Series, nodes: pl.Series, cores: pl.Series) -> pl.Series:
    """ReqMem in bytes over the whole job.

    `n` is per node, `c` per core, neither is the total (from 21.08); the flag bit 2^31 (2^63 in newer
    Slurm) in the megabytes means per core, whatever the suffix. 0 is "whole node": no request, NULL.
    """
    parts = (
        pl.DataFrame({"text": text.str.strip_chars(), "nodes": nodes, "cores": cores})
        .with_columns(pl.col("text").str.extract_groups(r"^(\d+(?:\.\d*)?)([KMGTPkmgtp]?)([nc]?)[a-z]*$").alias("part"))
        .with_columns(
            digits=pl.col("part").struct.field("1"),
            unit=pl.col("part").struct.field("2"),
            per=pl.col("part").struct.field("3"),
        )
    )
    whole = parts["digits"].cast(pl.UInt64, strict=False)
    wide = ((whole >= _PER_CPU_FLAG_64) & (whole < 2**64 - 2**20)).fill_null(False)
    unit = parts["unit"].replace("", "M")  # Slurm counts memory in MiB where it names no unit
    size = parts["digits"].cast(pl.Float64, strict=False) * _factor(unit)
    narrow = ((size >= _PER_CPU_FLAG * 2.0**20) & unit.str.to_uppercase().is_in(["K", "M", "G"])).fill_null(False)
    frame = parts.select(
        "per",
        "nodes",
        "cores",
        size=size,
        wide=wide,
        narrow=narrow,
        low=pl.when(wide).then(whole.cast(pl.UInt64) % _PER_CPU_FLAG_64).cast(pl.Float64) * 2.0**20,
    )
    per_core = pl.col("narrow") | pl.col("wide") | (pl.col("per") == "c")
    one = pl.when("wide").then("low").when("narrow").then(pl.col("size") - _PER_CPU_FLAG * 2.0**20).otherwise("size")
    many = pl.when(per_core).then("cores").when(pl.col("per") == "n").then("nodes").otherwise(1.0)
    total = frame.select((one * many).alias("total"))["total"]
    unset = parts["digits"].cast(pl.Float64, strict=False).is_in(_UNSET)
    return _keep(total, (total > 0) & (total < _NO_SIZE) & ~unset).round().cast(pl.Int64)


def duration_s(text: pl.Series) -> pl.Series:
    """`D-HH:MM:SS`, `HH:MM:SS`, `MM:SS.mmm` or plain seconds, in seconds.

    NULL for `UNLIMITED`, `Partition_Limit`, `INVALID`, a negative time, and what only garbage can be.
    """
    return by_value(text, _duration_s)


def _duration_s(text: pl.Series) -> pl.Series:
    plain = text.cast(pl.Float64, strict=False)
    if plain.null_count() == text.null_count():
        return _keep(plain, (plain >= 0) & (plain < _NO_LIMIT_S))
    shape = r"^(?:(\d+)-)?(?:(\d+):)?(\d+)(?::(\d+(?:\.\d+)?))?$"
    parts = text.str.extract_groups(shape).struct
    days, first, second, third = (parts.field(str(i)).cast(pl.Float64, strict=False) for i in range(1, 5))
    frame = pl.DataFrame({"d": days, "a": first, "b": second, "c": third, "plain": plain})
    whole = pl.col("a").fill_null(0) * 3600 + pl.col("b") * 60 + pl.col("c")
    hours = pl.when(pl.col("a").is_null()).then(pl.col("b") * 3600).otherwise(pl.col("a") * 3600 + pl.col("b") * 60)
    minutes = pl.col("a") * 60 + pl.col("b")
    short = pl.when(pl.col("d").is_null()).then(minutes).otherwise(hours)  # MM:SS; of a day's text, HH or HH:MM
    clock = pl.when(pl.col("c").is_null()).then(short).otherwise(whole) + pl.col("d").fill_null(0) * 86400
    value = frame.select(pl.coalesce("plain", clock)).to_series()
    return _keep(value, (value >= 0) & (value < _NO_LIMIT_S))


def time_limit_s(text: pl.Series, *, minutes: bool) -> pl.Series:
    """Timelimit, or TimelimitRaw where `minutes`, in seconds; NULL where none was set."""
    return number(text) * 60 if minutes else duration_s(text)


def tres(text: pl.Series, name: str) -> pl.Series:
    """The text of one TRES (`cpu`, `mem`, `node`, `fs/disk`, …) in a list such as `cpu=4,mem=16G`."""
    return text.str.extract(rf"(?:^|,){re.escape(name)}=([^,]*)")


def gres(text: pl.Series) -> pl.DataFrame:
    """What a TRES list holds of GPUs: `gpus`, `shards`, `gres` (normalised text); NULL where there is no list.

    GPUs are whole-card equivalents. Typed and untyped counts of the same cards are one; a MIG instance
    counts by its g-sevenths or its share of the card's memory, the larger.
    """
    only = text.str.extract_all(r"gres/(?:gpu|shard|mps)(?::[^,=]*)?=[^,]*").list.join(",")
    return _by_struct(only, _gres_of_tres)


def _by_struct(text: pl.Series, read: Callable[[str], dict[str, float | str | None]]) -> pl.DataFrame:
    distinct = text.unique()
    rows = [read(value) if value is not None else {} for value in distinct.to_list()]
    schema = {"gpus": pl.Float64, "shards": pl.Float64, "gres": pl.String}
    answers = pl.DataFrame(rows, schema=schema) if rows else pl.DataFrame(schema=schema)
    answers = answers.with_columns(text=distinct)
    return (
        text.to_frame("text").join(answers, on="text", how="left", nulls_equal=True, maintain_order="left").drop("text")
    )


def _gres_of_tres(text: str) -> dict[str, float | str | None]:
    counts: dict[tuple[str, str], float] = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.removeprefix("gres/").rpartition("=")
        kind, _, card = name.partition(":")
        if not re.fullmatch(r"\d{1,9}(\.\d+)?", value):
            return {}  # unset, infinite or nonsense: how many is not known
        counts[kind, card] = max(counts.get((kind, card), 0.0), float(value))
    return gres_summary(counts)


def gres_summary(counts: dict[tuple[str, str], float]) -> dict[str, float | str | None]:
    """`gpus`, `shards` and normalised text of counts by (kind, card type); type "" is the untyped total."""
    kept: dict[tuple[str, str], float] = {}
    for kind in ("gpu", "shard", "mps"):
        typed = {card: n for (k, card), n in counts.items() if k == kind and card and n > 0}
        rest = counts.get((kind, ""), 0.0) - sum(typed.values())
        kept |= {(kind, card): n for card, n in typed.items()}
        if rest > 0:
            kept[kind, ""] = rest
    gpus = sum(n * card_share(card) for (kind, card), n in kept.items() if kind == "gpu")
    shards = sum(n for (kind, _), n in kept.items() if kind != "gpu")
    names = sorted(f"{kind}{':' if card else ''}{card}={n:g}" for (kind, card), n in kept.items())
    return {"gpus": gpus, "shards": shards, "gres": ",".join(names)}


# NVIDIA's MIG profiles (g slices, GiB): the share of the card's memory where it is more than g sevenths. An
# A30 has four slices, the others eight; 1g profiles come with one slice of memory or with two.
_MIG_SHARES = {
    **{(1, 6): 1 / 4, (2, 12): 1 / 2, (4, 24): 1.0},  # A30
    **{(3, size): 1 / 2 for size in (20, 40, 47, 48, 71, 72, 90)},
    **{(1, size): 1 / 4 for size in (20, 24, 35, 36, 45)},
}


def card_share(card: str) -> float:
    """What a GRES type is of a whole card: 1, or for a MIG instance (`a100_3g.20gb`) its share of one.

    The larger of g-sevenths and memory share, by NVIDIA's profiles.
    """
    match = re.search(r"(\d{1,2})g\.(\d{1,3})gb", card.lower())
    if match is None:
        return 1.0
    slices, size = int(match[1]), int(match[2])
    return min(1.0, max(slices / 7, _MIG_SHARES.get((slices, size), 0.0)))


def node_gres(text: str | None) -> dict[str, float | str | None]:
    """A node's `Gres` such as `gpu:a100:4(S:0-1),shard:a100:16(S:0)`; nothing where there is none."""
    counts: dict[tuple[str, str], float] = {}
    for item in re.split(r",(?![^(]*\))", (text or "").replace(":no_consume", "")):
        match = re.fullmatch(
            r"(?:gres/)?(gpu|shard|mps)(?::([^:()=]+))?(?:[:=](\d{1,9})(K?))?(?:\(.*\))?", item.strip()
        )
        if match is None:
            if item.strip().startswith(("gpu:", "gpu=")):
                return {"gpus": None, "shards": None, "gres": None}  # how many is not known
            continue
        kind, card, count = match[1], match[2] or "", match[3]
        if count is None and card.isdigit():
            card, count = "", card
        n = float(count or 1) * (1024 if match[4] else 1)
        counts[kind, card] = counts.get((kind, card), 0.0) + n
    return gres_summary(counts)


def gpu_type(text: str | None) -> str | None:
    """The card that a node's normalised GRES holds most of: `a100` of `gpu:a100=4`; NULL where untyped or none."""
    typed = re.findall(r"gpu:([^=,]+)=([\d.]+)", text or "")
    return str(max(typed, key=lambda item: float(item[1]))[0]) if typed else None


_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def sluid_number(text: pl.Series) -> pl.Series:
    """The DBIndex that a SLUID spells (`s` and 13 characters in Crockford's base 32), as text; else NULL."""
    if not text.count():
        return pl.Series([None] * text.len(), dtype=pl.String)
    values = dict(zip(_CROCKFORD, range(32), strict=True))
    digit = [
        pl.col("text").str.slice(place, 1).replace_strict(values, default=0, return_dtype=pl.UInt64)
        * pl.lit(32 ** (13 - place), dtype=pl.UInt64)
        for place in range(1, 14)
    ]
    spelled = pl.col("text").str.contains(rf"^s[0-9A-F][{_CROCKFORD}]{{12}}$")
    number = pl.sum_horizontal(digit).cast(pl.String)
    return pl.DataFrame({"text": text}).select(pl.when(spelled).then(number).alias("number"))["number"]


def array_tasks(text: str) -> int | None:
    """How many pending tasks a folded array id such as `5-10%2` or `1,3,7-9` or `0-4:2` stands for."""
    total = 0
    for part in text.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?", part.strip())
        if match is None:
            return None
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1:
            return None
        total += (last - first) // step + 1
    return total


def is_host_list(text: str) -> bool:
    """Whether a text that a person wrote is a host list that names at least one node: no wildcard, brackets closed."""
    item = r"[\w.\-]*(?:\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\][\w.\-]*)*"
    ranges = re.findall(r"(\d+)-(\d+)(?=[,\]])", text)
    ordered = all(int(first) <= int(last) for first, last in ranges)
    return bool(re.fullmatch(rf"{item}(?:,{item})*", text)) and ordered and bool(hosts(text)) and "" not in hosts(text)


def hosts(text: str | None) -> tuple[str, ...]:
    """The nodes of a host list such as `d13n[03,05,07-08],login`; none for `None assigned`, `(null)` or nonsense."""
    if not text or text in ("None assigned", "(null)", "None", "Unknown"):
        return ()
    found: list[str] = []
    for item in re.findall(r"(?:[^,\[\]]|\[[^\]]*\])+", text):
        axes = [_axis(part) for part in re.findall(r"\[[^\]]*\]|[^\[\]]+", item.strip())]
        size = 1
        for axis in axes:
            size *= len(axis)
        if size + len(found) > _MAX_HOSTS:
            return ()
        found += ["".join(parts) for parts in product(*axes)]
    return tuple(dict.fromkeys(found))


def _axis(part: str) -> list[str]:
    if not part.startswith("["):
        return [part]
    values: list[str] = []
    for piece in part[1:-1].split(","):
        match = re.fullmatch(r"(\d{1,12})-(\d{1,12})", piece)
        if match is None:
            values.append(piece)
            continue
        first, last = int(match[1]), int(match[2])
        if last - first > _MAX_HOSTS:
            return []
        values += [f"{n:0{len(match[1])}d}" for n in range(first, last + 1)]
    return values


def _keep(value: pl.Series, ok: pl.Series) -> pl.Series:
    """`value` where `ok`, else NULL."""
    return pl.select(pl.when(ok).then(value)).to_series()
