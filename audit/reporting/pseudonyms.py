"""Pseudonyms: a report says u-xxxxxx where the accounting names a user, unless real names are asked for.

Who it is can be told only with the key, `pseudonyms.key` in the engagement's folder: the same key gives the same
pseudonym in every report, so that windows can be compared. What the site named after other things (cluster,
partitions, nodes) stays as it is.
"""

import base64
import hmac
import os
import secrets
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from audit.errors import AuditError

KEY_NAME = "pseudonyms.key"
_KEY_BYTES = 32
_PREFIX, _LENGTH = "u-", 6
_LONG = 4  # a name as long as this is found anywhere in a text; a shorter one only where it stands alone
_TOKENS = r"[\p{L}\p{N}]+|[^\p{L}\p{N}]+"


class Pseudonyms:
    """What stands in a report for each user, alone and inside other names. Without a key, names stay as they are."""

    def __init__(self, users: Iterable[str], key: bytes | None) -> None:
        """`users` are all that a text could name."""
        self._key = key
        self._of = {} if key is None else _pseudonyms({name for name in users if name}, key)
        self._alone = {name.lower(): shown for name, shown in self._of.items() if _is_short_word(name)}
        # The longest first of those that begin at one place. Ignoring case is left to both spellings, and to ASCII.
        inside = {name: shown for name, shown in self._of.items() if _is_found_inside(name)}
        spelt = {way: shown for name, shown in inside.items() for way in (name.lower(), name.upper())} | inside
        self._inside = dict(sorted(spelt.items(), key=lambda pair: (-len(pair[0]), pair[0])))

    @property
    def are_real(self) -> bool:
        """Whether names stay as they are."""
        return self._key is None

    def user(self, name: str | None) -> str | None:
        """The pseudonym of a user; None where it is not known who it was."""
        (shown,) = self.users(pl.Series([name], dtype=pl.String)).to_list()
        return None if shown is None else str(shown)

    def text(self, text: str | None) -> str | None:
        """A name from outside with every user's name in it replaced; `texts` does many at once."""
        (shown,) = self.texts(pl.Series([text], dtype=pl.String)).to_list()
        return None if shown is None else str(shown)

    def users(self, names: pl.Series) -> pl.Series:
        """The pseudonyms of users, in their order."""
        if self._key is None:
            return names
        strange = {name for name in names.unique().drop_nulls() if name and name not in self._of}
        known = self._of | _pseudonyms(strange, self._key)
        return names.replace(list(known), list(known.values()))

    def texts(self, texts: pl.Series) -> pl.Series:
        """Names from outside with every user's name in them replaced, whatever its case, in their order."""
        if self._alone:
            old, new = list(self._alone), list(self._alone.values())
            token = pl.element()
            swapped = token.str.to_lowercase().replace_strict(old, new, default=token, return_dtype=pl.String)
            joined = pl.col("text").str.extract_all(_TOKENS).list.eval(swapped).list.join("")
            texts = texts.to_frame("text").select(joined).to_series()
        if self._inside:
            texts = texts.str.replace_many(
                list(self._inside), list(self._inside.values()), ascii_case_insensitive=True, leftmost=True
            )
        return texts


def pseudonyms(connection: duckdb.DuckDBPyConnection, root: Path, *, real_names: bool = False) -> Pseudonyms:
    """The pseudonyms of an engagement: of every user in its store, by the key in its folder, which is made if need be.

    AuditError: a key that others can read, that is damaged, or that cannot be made. With `real_names` no key is read
    or made.
    """
    if real_names:
        return Pseudonyms((), None)
    found = connection.execute("SELECT DISTINCT user_name FROM job WHERE user_name IS NOT NULL").fetchall()
    return Pseudonyms((name for (name,) in found), _key(root / KEY_NAME))


def pseudonymise(report: Mapping[str, Any], names: Pseudonyms) -> dict[str, Any]:
    """The report as it may be shown: users by pseudonym; accounts, families, files and the site's price books as texts.

    `real_names` says which it is.
    """
    shown = {**report, "real_names": names.are_real}
    for section, key in (("users", "user"), ("families", "user")):
        shown[section] = _with(shown[section], key, names.users)
    for section, key in (
        ("families", "account"),
        ("families", "family"),
        ("accounts", "account"),
        ("evidence", "name"),
    ):
        shown[section] = _with(shown[section], key, names.texts)
    stated = [price for price in report["prices"] if not price["providers"]]
    own = iter(_with(stated, "source", names.texts))
    shown["prices"] = [price if price["providers"] else next(own) for price in report["prices"]]
    return shown


def _with(rows: list[dict[str, Any]], key: str, shown: Callable[[pl.Series], pl.Series]) -> list[dict[str, Any]]:
    values = shown(pl.Series([row[key] for row in rows], dtype=pl.String))
    return [{**row, key: value} for row, value in zip(rows, values, strict=True)]


def _is_short_word(name: str) -> bool:
    return len(name) < _LONG and name.isalnum()


def _is_found_inside(name: str) -> bool:
    """Of the short ones only those that mix letters or digits with something else, and so are no common word."""
    return len(name) >= _LONG or (not name.isalnum() and any(map(str.isalnum, name)))


def _pseudonyms(names: set[str], key: bytes) -> dict[str, str]:
    """One a name: further on in its digest where it would spell a user's name, longer where two would share one."""
    digest = {name: base64.b32encode(hmac.digest(key, name.encode(), "sha256")).decode().lower() for name in names}
    shown = {name: _PREFIX + digest[name][:_LENGTH] for name in sorted(names)}
    fits = len(_PREFIX) + _LENGTH  # a longer name cannot stand in a pseudonym
    inside = [name.lower() for name in names if _is_found_inside(name) and len(name) <= fits]
    for _ in range(_KEY_BYTES if inside else 0):
        spells = pl.Series(list(shown.values()), dtype=pl.String).str.contains_any(inside)
        for name in pl.Series(list(shown), dtype=pl.String).filter(spells):
            digest[name] = digest[name][1:]
            shown[name] = _PREFIX + digest[name][:_LENGTH]
    length = _LENGTH
    while shared := {text for text, times in Counter(shown.values()).items() if times > 1}:
        length += 1
        shown |= {name: _PREFIX + digest[name][:length] for name, text in shown.items() if text in shared}
    return shown


def _key(path: Path) -> bytes:
    """The key, made where there is none."""
    key = secrets.token_bytes(_KEY_BYTES)
    try:
        try:
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return _read_key(path)
        try:
            with os.fdopen(made, "wb") as file:
                file.write(key)
        except OSError:
            path.unlink()  # half a key would be in the way of the next
            raise
        return key
    except OSError as error:
        raise AuditError(
            f"the key of the pseudonyms cannot be made or read ({error.strerror})",
            where=str(path),
            remedy="let the folder be written, or ask for --real-names",
        ) from None


def _read_key(path: Path) -> bytes:
    with path.open("rb") as file:
        mode, key = os.fstat(file.fileno()).st_mode, file.read(_KEY_BYTES + 1)
    if stat.S_IMODE(mode) & 0o077:
        raise AuditError("can be read or written by others", where=str(path), remedy=f"run `chmod 600 {path}`")
    if len(key) != _KEY_BYTES:
        raise AuditError(
            f"is not a key of {_KEY_BYTES} bytes",
            where=str(path),
            remedy="put it back, or delete it for other pseudonyms",
        )
    return key
