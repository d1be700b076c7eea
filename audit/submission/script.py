"""A batch script's `#SBATCH` lines, as sbatch finds and splits them."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path

from audit.errors import UsageError
from audit.submission.options import Word
from audit.submission.records import Notes, shown

_MOST_BYTES = 4 * 2**20  # Slurm's own max_script_size
_MOST_WORDS = 10_000
_MOST_COMPONENTS = 128  # of a heterogeneous job, in Slurm
_DIRECTIVE = "#SBATCH"
_BLANK = " \t\r\f\v"
_SEPARATORS = ("hetjob", "packjob")
# One piece of a word each; quotes of either kind group, and a backslash takes the next character as it is.
_PIECE = re.compile(
    r"""(?P<blank>\s++)|(?P<comma>,)|(?P<comment>\#)|(?P<plain>[^\s,'"\\\#]++)|\\(?P<escaped>.?)"""
    r"""|"(?P<double>(?:[^"\\]++|\\.)*+)"|'(?P<single>(?:[^'\\]++|\\.)*+)'|(?P<open>["'])""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)


def script_text(path: str) -> str:
    """The script's first 4 MiB; bytes that are no UTF-8 become their codes. UsageError where there is none to read."""
    where, remedy = shown(path), "name a batch script, or give --wrap"
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):  # a pipe could hold us up
            raise UsageError("is not a regular file", where=where, remedy=remedy)
        with Path(path).open("rb") as stream:
            return stream.read(_MOST_BYTES + 1).decode("utf-8", "backslashreplace")
    except FileNotFoundError:
        raise UsageError("there is no such script", where=where, remedy=remedy) from None
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the script cannot be read: {what}", where=where, remedy=remedy) from None


def components(text: str, notes: Notes) -> list[list[Word]]:
    """The words of the script's directives; one list for each component of a heterogeneous job.

    As sbatch does: a directive starts its line with `#SBATCH` (indented, doubled or in lower case it is a comment),
    and none counts after the first line that is neither blank nor a comment; a value may stand on the next directive.
    """
    _odd(text, notes)
    found: list[list[Word]] = [[]]
    count = 0
    for number, line in _directives(text, notes):
        where = f"line {number}"
        words = split(line, where, notes)
        if words and words[0] in _SEPARATORS:
            if len(words) > 1:
                notes.add(f"{where}: what follows {words[0]} is not read")
            found.append([])
            if len(found) > _MOST_COMPONENTS:
                notes.add(f"{where}: Slurm takes at most {_MOST_COMPONENTS} components: the rest is not read")
                return found[:_MOST_COMPONENTS]
            continue
        count += len(words)
        if count > _MOST_WORDS:
            notes.add(f"{where}: more than {_MOST_WORDS} words of directives: the rest is not read")
            break
        found[-1] += [Word(word, where) for word in words]
    return found


def _odd(text: str, notes: Notes) -> None:
    """Notes for which sbatch would refuse the script."""
    if len(text) > _MOST_BYTES:
        notes.add("the script is larger than 4 MiB: Slurm refuses it, and only its first 4 MiB are read")
    if not text.startswith("#!"):
        notes.add("line 1: does not start with #! and an interpreter: sbatch refuses the script")
    if "\r\n" in text:
        notes.add("the script has Windows line ends: sbatch refuses it; convert it with dos2unix")
    if "\x00" in text:
        notes.add("the script has NUL bytes: sbatch refuses it")


def _directives(text: str, notes: Notes) -> Iterator[tuple[int, str]]:
    """Line number and text after `#SBATCH` of each directive that counts."""
    start, number = int(text.startswith("\ufeff")), 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        line = text[start:end].removesuffix("\r")
        if line.startswith(_DIRECTIVE):
            yield number, line.removeprefix(_DIRECTIVE)
        elif not line.lstrip(_BLANK).startswith("#"):
            if line.strip(_BLANK):
                break
        elif line.lstrip(_BLANK).startswith(_DIRECTIVE):
            notes.add(f"line {number}: an indented #SBATCH is a comment to sbatch")
        elif line.startswith(("#PBS", "#BSUB")):
            notes.add(f"line {number}: #PBS and #BSUB lines are not read here; sbatch may obey them")
        start = end + 1
    late = text.find(f"\n{_DIRECTIVE}", start)
    if late >= 0:
        line_of_late = text.count("\n", 0, late) + 2
        notes.add(f"line {line_of_late}: #SBATCH after the first command is not read by sbatch")


def split(text: str, where: str, notes: Notes, *, at_commas: bool = False) -> list[str]:
    """A directive's words; or, `at_commas`, a list's items, which may hold blanks.

    A `#` outside quotes ends the directive, even inside a word; quotes that do not close are noted.
    """
    words: list[str] = []
    word: list[str] = []
    end = "comma" if at_commas else "blank"
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == end or (kind == "comment" and not at_commas):
            words.append("".join(word))
            word.clear()
            if kind == "comment":
                break
        elif kind == "open":
            notes.add(f"{where}: a quote is not closed: sbatch refuses {shown(text.strip())}")
            word.append(text[piece.end() :])
            break
        elif kind in ("double", "single"):
            word.append(re.sub(r"\\(.)", r"\1", piece[kind], flags=re.DOTALL))
        else:
            word.append(piece[kind] if kind else "")
    words.append("".join(word))
    return [each for each in words if each]
