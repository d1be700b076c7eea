"""Tables of a TOML file that a person wrote: typed values, and errors that name file, line and key."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from audit.errors import UsageError

_LARGEST = 1e15  # of an amount: what is larger is a slip, and must not overflow
_KEY = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'=#\[\]])+?)=""")


@dataclass(frozen=True)
class Table:
    """One table of a file. `path` names it, `where` is the file as errors show it, `text` all of the file."""

    values: Mapping[str, Any]
    path: tuple[str, ...]
    text: str
    where: str

    def fail(self, key: str, why: str) -> UsageError:
        """The error that says of `key` what is wrong, at its line."""
        line = line_of(self.text, (*self.path, key))
        return UsageError(f"{dotted((*self.path, key))} {why}", where=f"{self.where}:{line}" if line else self.where)

    def only(self, known: Collection[str]) -> None:
        """UsageError where it holds a key that is none of these."""
        for key in self.values:
            if key not in known:
                names = ", ".join(sorted(known))
                raise self.fail(key, f"is not a key of ours; known: {names}; mend its name or remove it")

    def text_of(self, key: str) -> str | None:
        """A text that is not blank; None where the key is not there."""
        value = self.values.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.fail(key, "expects text in quotes")
        return value

    def one_of(self, key: str, known: Collection[str]) -> str | None:
        """One of these words; None where the key is not there."""
        value = self.values.get(key)
        if value is not None and (not isinstance(value, str) or value not in known):
            raise self.fail(key, f"expects one of {', '.join(quote(k) for k in sorted(known))}")
        return value

    def number(self, key: str, *, least: float | None = None) -> float | None:
        """A number above 0, or of `least` or more where that is given; None where the key is not there."""
        value = self.values.get(key)
        if value is None:
            return None
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not (value > 0 if least is None else value >= least) or value > _LARGEST:
            expected = "a number above 0" if least is None else f"a number, {least:g} or more"
            raise self.fail(key, f"expects {expected}")
        return float(value)

    def numbers(self) -> Iterator[tuple[str, float]]:
        """Its keys, each with a number above 0."""
        for key in self.values:
            value = self.number(key)
            if value is not None:
                yield key, value

    def table(self, key: str, shape: str) -> "Table":
        """The table under `key`, empty where it is not there; `shape` shows a line of it in the error."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.fail(key, f"expects lines like {shape}")
        return Table(value, (*self.path, key), self.text, self.where)


def parsed(text: str, where: str) -> Table:
    """The whole file as a table; UsageError where it is not TOML."""
    try:
        return Table(tomllib.loads(text), (), text, where)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"is not TOML ({error})", where=where, remedy="mend that line") from None


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line on which the key stands, else the last heading or key that leads to it; None where none does."""
    found, depth = None, 0
    for number, line in enumerate(_headed(text), 1):
        if line == path:
            return number
        if line and len(line) >= depth and line == path[: len(line)]:
            found, depth = number, len(line)
    return found


def _headed(text: str) -> Iterator[tuple[str, ...]]:
    """For each line the whole path of its heading or key; nothing where it has none."""
    inside: tuple[str, ...] = ()
    for line in text.split("\n"):
        if line.lstrip().startswith("[") and (heading := _spelled(line)):
            inside = heading
            yield inside
        elif (key := _KEY.match(line)) and (spelled := _spelled(f"{key[1]}= 0")):
            yield (*inside, *spelled)
        else:
            yield ()


def _spelled(line: str) -> tuple[str, ...]:
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    path = []
    while isinstance(value, dict | list) and value:
        if isinstance(value, list):
            value = value[0]
        else:
            key, value = next(iter(value.items()))
            path.append(key)
    return tuple(path)


def dotted(path: tuple[str, ...]) -> str:
    """A key as TOML spells it: `prices.owned."4xA100-80GB".years`."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else quote(part) for part in path)


def quote(text: str) -> str:
    """A TOML basic string: nothing in `text` can end it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m[0]):04x}", escaped) + '"'
