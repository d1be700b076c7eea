"""Lines of one kind of telemetry to typed rows and rejects, whole columns at a time; pure."""

import codecs
import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from audit.evidence.interface import REJECT_SCHEMA
from audit.evidence.telemetry import (
    COUNT,
    FIRST_S,
    LAST_S,
    LONGEST_S,
    MAY_BE_NEGATIVE,
    MOST_COUNT,
    MOST_REAL,
    PERCENTS,
    SHARES,
    TEXT,
    UNBOUNDED,
    Kind,
)

_Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]
_Marks = np.ndarray[tuple[int], np.dtype[np.bool_]]
_JOB_ID = r"^(?:[0-9]{1,20}|s[0-9A-HJKMNP-TV-Z]{13})$"
_TIMES = {"from_s": "from_time", "to_s": "to_time", "at_s": "at_time", "since_s": "since_time", "start_s": "start_time"}
_MOST_TEXT = 2000  # of a line that is shown as a reject
_MOST_TORN = 1000  # of a block's lines with a wrong number of fields that are shown
_US = 1_000_000


@dataclass(frozen=True)
class Block:
    """Some whole members' text: line i is `codes` from `starts[i]` to `ends[i]`, of interval `nth[i]`."""

    codes: np.ndarray[tuple[int], np.dtype[np.uint8]]
    starts: _Numbers
    ends: _Numbers
    tabs: _Numbers
    nth: _Numbers
    intervals: int

    @classmethod
    def of(cls, text: bytes) -> "Block":
        """The lines of a text that ends with a line feed."""
        codes = np.frombuffer(text, dtype=np.uint8)
        ends = np.flatnonzero(codes == 10)
        starts = np.concatenate((ends[:0], [0], ends[:-1] + 1))[: ends.size]
        tabs = np.diff(np.searchsorted(np.flatnonzero(codes == 9), ends), prepend=0)
        is_interval = _begins(codes, starts, ends, b"interval\t")
        return cls(codes, starts, ends, tabs, np.cumsum(is_interval) - 1, int(is_interval.sum()))

    def is_kind(self, kind: str) -> _Marks:
        """Which lines are of a kind."""
        return _begins(self.codes, self.starts, self.ends, f"{kind}\t".encode())

    def text(self, lines: _Numbers) -> bytes:
        """The text of some lines."""
        if lines.size == self.ends.size:
            return self.codes.tobytes()
        wanted = np.zeros(self.ends.size, dtype=np.bool_)
        wanted[lines] = True
        return self.codes[np.repeat(wanted, self.ends - self.starts + 1)].tobytes()


def _begins(codes: np.ndarray[tuple[int], np.dtype[np.uint8]], starts: _Numbers, ends: _Numbers, word: bytes) -> _Marks:
    marks = ends - starts >= len(word)
    for place, code in enumerate(word):
        marks[marks] = codes[starts[marks] + place] == code
    return marks


def rows(block: Block, spec: Kind, kind: str, names: list[str], lines: _Numbers) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of one kind, with `interval_no` counted from the block's first, and the rejects, line counted from 0."""
    fits = block.tabs[lines] == len(names)
    whole, odd = lines[fits], lines[~fits]
    frame = _fields(block.text(whole), len(names) + 1) if whole.size else pl.DataFrame(schema=_texts(len(names) + 1))
    frame = frame.select(
        pl.col(str(place + 1)).alias(f"_{name}") for place, name in enumerate(names) if _first(names, place)
    )
    frame = frame.with_columns(
        line=pl.Series(whole, dtype=pl.Int64), interval_no=pl.Series(block.nth[whole], dtype=pl.Int32)
    )
    typed = frame.with_columns(_typed(spec, names))
    typed = typed.with_columns(fault=_fault(spec, kind, names))
    bad = typed.filter(pl.col("fault").is_not_null())
    good = typed.filter(pl.col("fault").is_null()) if bad.height else typed
    shown = pl.concat_str([pl.col(f"_{n}").fill_null("") for n in dict.fromkeys(names)], separator="\t")
    refused = bad.select(
        "line", pl.col("fault").alias("reason"), (pl.lit(f"{kind}\t") + shown).str.head(_MOST_TEXT).alias("text")
    )
    torn = [(int(at), f"{kind}: not {len(names)} fields", _shown(block, int(at))) for at in odd[:_MOST_TORN]]
    if odd.size > _MOST_TORN:
        torn.append((int(odd[_MOST_TORN]), torn[0][1], f"and {odd.size - _MOST_TORN} more lines"))
    rejects = pl.concat([refused, pl.DataFrame(torn, schema=REJECT_SCHEMA, orient="row")])
    return good.select(_columns(spec, names)), rejects


def _texts(fields: int) -> dict[str, type[pl.String]]:
    return dict.fromkeys(map(str, range(fields)), pl.String)


def _fields(text: bytes, fields: int) -> pl.DataFrame:
    """The lines as text by field, NULL where one is empty; bytes that are no UTF-8 become their codes."""
    return pl.read_csv(
        _utf8(text),
        has_header=False,
        separator="\t",
        quote_char=None,
        schema=_texts(fields),
        infer_schema=False,
        glob=False,
    )


def _first(names: list[str], place: int) -> bool:
    return names.index(names[place]) == place


def _shown(block: Block, line: int) -> str:
    raw = block.codes[block.starts[line] : min(block.ends[line], block.starts[line] + _MOST_TEXT)].tobytes()
    return raw.decode("utf-8", "backslashreplace")


def _utf8(text: bytes) -> bytes:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("utf-8", "backslashreplace").encode()
    return text


def _typed(spec: Kind, names: list[str]) -> list[pl.Expr]:
    found = [
        (pl.col(f"_{said}").cast(pl.Float64, strict=False) * _US).round().alias(f"{name}_us")
        for said, name in _TIMES.items()
        if said in names
    ]
    for name, kind in spec.told.items():
        if name not in names:
            continue
        text = pl.col(f"_{name}")
        if kind == TEXT:
            found.append(_plain(text).alias(name))
        elif kind == COUNT:
            whole = text.cast(pl.Int64, strict=False)
            found.append(
                pl.coalesce(whole, text.cast(pl.Float64, strict=False).round().cast(pl.Int64, strict=False)).alias(name)
            )
        else:
            found.append(text.cast(pl.Float64, strict=False).alias(name))
    return found


def _plain(text: pl.Expr) -> pl.Expr:
    r"""The text with every `\xHH` turned back into its byte; only values that hold a backslash are looked at."""
    return (
        pl.when(text.str.contains("\\", literal=True))
        .then(
            text.map_batches(
                lambda values: values.replace_strict(
                    (odd := values.filter(values.str.contains("\\", literal=True).fill_null(False)).unique()),
                    pl.Series([_bytes(value) for value in odd], dtype=pl.String),
                    default=values,
                    return_dtype=pl.String,
                ),
                return_dtype=pl.String,
            )
        )
        .otherwise(text)
    )


def _bytes(value: str) -> str:
    raw = re.sub(rb"\\x([0-9a-fA-F]{2})", lambda m: codecs.decode(m[1], "hex"), value.encode())
    return raw.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")


def _fault(spec: Kind, kind: str, names: list[str]) -> pl.Expr:
    """The first thing wrong with a row, NULL where nothing is."""
    checks: list[tuple[pl.Expr, str]] = []
    for said, name in _TIMES.items():
        if said not in names:
            continue
        value, text = pl.col(f"{name}_us"), pl.col(f"_{said}")
        absurd = ~value.is_between(FIRST_S * _US, LAST_S * _US)
        checks.append(((text.is_not_null() & value.is_null()) | absurd.fill_null(False), f"{said} is no time"))
    checks += [(pl.col(f"{_TIMES[said]}_us").is_null(), f"{said} is missing") for said in spec.times]
    if not spec.is_point:
        length = pl.col("to_time_us") - pl.col("from_time_us")
        checks.append((~length.is_between(0, LONGEST_S * _US), "it ends before it begins, or is longer than a year"))
    for name, type_ in spec.told.items():
        if name not in names:
            continue
        value, text = pl.col(name), pl.col(f"_{name}")
        if type_ == TEXT:
            checks += [(text.is_null(), f"{name} is missing")] if name in spec.needed else []
            checks += [(~text.str.contains(_JOB_ID), f"{name} is no job")] if name in spec.jobs else []
            continue
        wrong = (text.is_not_null() & value.is_null()) | ~value.cast(pl.Float64).is_finite()
        checks.append((wrong.fill_null(False), f"{name} is no number"))
        if name not in MAY_BE_NEGATIVE:
            checks.append(((value < 0).fill_null(False), f"{name} is negative"))
        if name in SHARES | PERCENTS:
            most = 1.01 if name in SHARES else 101.0
            checks.append(((value > most).fill_null(False), f"{name} is more than all"))
        elif name not in UNBOUNDED:
            most = LAST_S if name == "mono_s" else MOST_COUNT if type_ == COUNT else MOST_REAL
            checks.append(((value > most).fill_null(False), f"{name} is more than can be"))
    return pl.coalesce(pl.when(is_wrong).then(pl.lit(f"{kind}: {reason}")) for is_wrong, reason in checks)


def _columns(spec: Kind, names: list[str]) -> list[pl.Expr]:
    """The table's columns; what the segment does not carry is NULL (place is filled in by the reader)."""
    said = {name for key, name in _TIMES.items() if key in names}
    made = []
    for name, type_ in spec.schema.items():
        if name == "interval_no":
            made.append(pl.col(name))
        elif name == "interval_s":
            made.append(((pl.col("to_time_us") - pl.col("from_time_us")) / _US).alias(name))
        elif name in said:
            made.append(pl.col(f"{name}_us").cast(pl.Int64).cast(pl.Datetime("us")).alias(name))
        elif name in names and name in spec.told:
            made.append(pl.col(name))
        else:
            made.append(pl.lit(None, dtype=type_).alias(name))
    return made
