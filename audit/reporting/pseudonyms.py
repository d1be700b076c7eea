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
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from audit.accounting.relations import build
from audit.errors import AuditError

KEY_NAME = "pseudonyms.key"
_KEY_BYTES = 32
_PREFIX, _LENGTH = "u-", 6
_LONG = 4  # a name as long as this is found anywhere in a text; a shorter one only where it stands alone
_OVERLONG, _SOUGHT = 64, 50  # longer names are sought one by one, and so many of them; the rest only as a whole text
_SHARED = f"{_PREFIX}#"  # stands in a family for several users whose names differ in their digits alone
# While a text is searched, codes of two private characters stand for what was found, so that no pseudonym is read as a
# name again, and marks stand around words and around the parts of words.
_HIGH, _LOW, _PLANE = 0xF0000, 0x100000, 0xFFFE
_WORD_MARK, _PART_MARK = "\U0010fffe", "\U0010ffff"
_PRIVATE = r"[\x{F0000}-\x{10FFFF}]"
_WORD = r"([\p{L}\p{M}\p{N}]+)"
_PART = r"(\p{Lu}?[\p{Ll}\p{Lt}\p{Lm}\p{Lo}\p{M}]+|\p{Lu}+)"  # letters of one part: annTrain has two, ann2 one


class Pseudonyms:
    """What stands in a report for each user, alone and inside other names. Without a key, names stay as they are."""

    def __init__(self, users: Iterable[str], key: bytes | None, families: Iterable[tuple[str, str]] = ()) -> None:
        """`users` are all that a text could name; `families` are users, each with the family of its name."""
        self._key = key
        self._of = {} if key is None else _pseudonyms({name for name in users if name}, key)
        names = {_nfc(name): shown for name, shown in sorted(self._of.items())}
        forms = {form: shown for form, shown in _forms(self._of, families).items() if form not in names}
        shown = sorted({*names.values(), *forms.values()})
        code = {text: chr(_HIGH + at // _PLANE) + chr(_LOW + at % _PLANE) for at, text in enumerate(shown)}
        self._decoded = {coded: text for text, coded in code.items()}
        overlong, inside, apart = {}, {}, {}
        for name, text in (forms | names).items():
            if len(name) > _OVERLONG:
                overlong[name] = code[text]
            elif len(name) >= _LONG or (name in names and _is_found_inside(name)):
                inside[name] = code[text]
            elif name in forms or name.isalnum():
                apart[name] = code[text]
        self._overlong, self._inside = _longest_first(overlong), _spelt(inside)
        self._apart = _standing_alone(_spelt(apart))

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
        """Names from outside with every user's name in them replaced, whatever its case, in their order.

        A family has the digits of its job names replaced: in it the families of users' names are replaced. What is
        returned is in Unicode's composed form (NFC).
        """
        if not self._of:
            return texts
        texts = texts.str.normalize("NFC").str.replace_all(_PRIVATE, "\ufffd")
        is_long = texts.str.len_chars() > _OVERLONG
        if self._overlong and is_long.any():
            texts.scatter(is_long.arg_true(), self._without_overlong(texts.filter(is_long)))
        texts = _replaced(texts, self._inside)
        if self._apart:
            marks = f"[{_WORD_MARK}{_PART_MARK}]"
            texts = _replaced(_marked(texts), self._apart).str.replace_all(marks, "")
        return _replaced(texts, self._decoded)

    def _without_overlong(self, texts: pl.Series) -> pl.Series:
        """Polars takes minutes to seek a few of these names together."""
        texts = texts.replace(list(self._overlong), list(self._overlong.values()))
        for name, code in islice(self._overlong.items(), _SOUGHT):
            for way in _spellings(name):
                texts = texts.str.replace_all(way, code, literal=True)
        return texts


def pseudonyms(connection: duckdb.DuckDBPyConnection, root: Path, *, real_names: bool = False) -> Pseudonyms:
    """The pseudonyms of an engagement: of every user in its store, by the key in its folder, which is made if need be.

    AuditError: a key that others can read, that is damaged, or that cannot be made. With `real_names` no key is read
    or made.
    """
    if real_names:
        return Pseudonyms((), None)
    build(connection, ("family",))
    users = "SELECT DISTINCT user_name FROM job WHERE user_name IS NOT NULL"
    found = connection.execute(f"SELECT user_name, family(user_name) FROM ({users})").fetchall()
    return Pseudonyms((name for name, _ in found), _key(root / KEY_NAME), found)


def pseudonymise(report: Mapping[str, Any], names: Pseudonyms) -> dict[str, Any]:
    """The report as it may be shown: users by pseudonym, those of the back-test too; accounts, families, files and the
    site's price books as texts.

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
    if sizing := report.get("sizing"):
        shown["sizing"] = {**sizing, "targets": [_tested(target, names) for target in sizing["targets"]]}
    stated = [price for price in report["prices"] if not price["providers"]]
    own = iter(_with(stated, "source", names.texts))
    shown["prices"] = [price if price["providers"] else next(own) for price in report["prices"]]
    return shown


def _tested(target: Mapping[str, Any], names: Pseudonyms) -> dict[str, Any]:
    """A target of the back-test with its users by pseudonym."""
    of_users = target["per_user"]
    return {**target, "per_user": {**of_users, "listed": _with(of_users["listed"], "user", names.users)}}


def _with(rows: list[dict[str, Any]], key: str, shown: Callable[[pl.Series], pl.Series]) -> list[dict[str, Any]]:
    values = shown(pl.Series([row[key] for row in rows], dtype=pl.String))
    return [{**row, key: value} for row, value in zip(rows, values, strict=True)]


def _is_found_inside(name: str) -> bool:
    """Of the short ones only those that mix letters or digits with something else, and so are no common word."""
    return len(name) >= _LONG or (not name.isalnum() and any(map(str.isalnum, name)))


def _forms(shown: Mapping[str, str], families: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What stands for the families of users' names, where that is not the name; one without a letter tells nothing."""
    forms = [(_nfc(form), shown[name]) for name, form in families if form != name and name in shown]
    forms = [(form, text) for form, text in forms if any(map(str.isalpha, form))]
    sharing: dict[str, set[str]] = {}
    for form, text in forms:
        sharing.setdefault(form.lower(), set()).add(text)
    return {form: text if len(sharing[form.lower()]) == 1 else _SHARED for form, text in forms}


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _spellings(name: str) -> list[str]:
    """The ways to spell a name beside those that differ in the case of ASCII letters."""
    ways = (name, name.lower(), name.upper(), name.title(), name.casefold())
    return sorted({_nfc(way) for way in (ways[:2] if name.isascii() and len(name) <= _OVERLONG else ways)})


def _spelt(names: Mapping[str, str]) -> dict[str, str]:
    """Each name in all its spellings; one that is spelt so goes before another that may be."""
    return _longest_first({way: to for name, to in names.items() for way in _spellings(name)} | dict(names))


def _longest_first(names: Mapping[str, str]) -> dict[str, str]:
    """The longest first, for of those that begin at one place the first is taken."""
    return dict(sorted(names.items(), key=lambda pair: (-len(pair[0]), pair[0])))


def _standing_alone(names: Mapping[str, str]) -> dict[str, str]:
    """Each name with the marks it has where it stands alone: one of letters is a part of a word, others are words."""
    marked = _marked(pl.Series(list(names), dtype=pl.String)).to_list()
    alone = zip(names.items(), marked, strict=True)
    return _longest_first({way.replace(_WORD_MARK, "") if name.isalpha() else way: to for (name, to), way in alone})


def _marked(texts: pl.Series) -> pl.Series:
    """With a mark on both sides of every word, and of every part of a word that has only letters."""
    for pattern, mark in ((_WORD, _WORD_MARK), (_PART, _PART_MARK)):
        texts = texts.str.replace_all(pattern, f"{mark}${{1}}{mark}")
    return texts


def _replaced(texts: pl.Series, names: Mapping[str, str]) -> pl.Series:
    if not names:
        return texts
    return texts.str.replace_many(list(names), list(names.values()), ascii_case_insensitive=True, leftmost=True)


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
