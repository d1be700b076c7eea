"""The fields `sacct` can print: which of them we read, what each may hold, and how a dump lays them out."""

import re
from dataclasses import dataclass

from audit.evidence.interface import EvidenceError
from audit.site import SITE_FIELDS, sacct_command

_JOB_ID = r"\d+(?:_\d+|_\[[^\]]*\]|\+\d+)?(?:\.[\w+\-]+)?"
_NUMBER = r"[\d.]*[KMGTP]?"
_MOMENT = r"(?:\d+|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|Unknown|None|N/A)"
_TIME = r"(?:|\d+|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|Unknown|None|N/A)"
_DURATION = r"(?:|-?(?:\d+-)?[\d:.]+|[A-Za-z_]+)"
_SIZE = r"(?:|\?|[\d.]+[KMGTPE]?[nc]?[a-z]*)"
_STATE = r"[A-Z][A-Z_]*\+?(?: by \S+)?"
_TRES = r"(?:|[\w/:.\-]+=[^,=\n]*(?:,[\w/:.\-]+=[^,=\n]*)*)"
_HOSTS = r"(?:|None assigned|\(null\)|[^\s\[\]]*(?:\[[^\s\[\]]*\][^\s\[\]]*)*)"
_EXIT = r"(?:|\d+:\d+)"
_ANY = r"[^\n]*"

# What each field may hold; a field not named here may hold anything but a line feed.
_SHAPES = {
    _JOB_ID: "jobid jobidraw",
    _MOMENT: "submit",
    _TIME: "eligible start end",
    _DURATION: "elapsed elapsedraw cputime cputimeraw totalcpu usercpu systemcpu suspended timelimit timelimitraw "
    "avecpu mincpu reserved planned resvcpu plannedcpu resvcpuraw plannedcpuraw",
    _SIZE: "reqmem maxrss averss maxvmsize avevmsize maxdiskread maxdiskwrite avediskread avediskwrite maxpages "
    "avepages avecpufreq",
    _STATE: "state",
    _TRES: "alloctres reqtres tresusageinave tresusageinmax tresusageinmin tresusageintot tresusageoutave "
    "tresusageoutmax tresusageoutmin tresusageouttot tresusageinmaxtask tresusageinmintask",
    _HOSTS: "nodelist",
    _EXIT: "exitcode derivedexitcode",
    _NUMBER: "nnodes ntasks ncpus alloccpus allocnodes reqcpus reqnodes uid gid dbindex priority qosraw associd "
    "restarts wckeyid reservationid consumedenergy consumedenergyraw maxrsstask maxvmsizetask mincputask",
}
SHAPES = {name: re.compile(shape) for shape, names in _SHAPES.items() for name in names.split()}
SHAPES[""] = re.compile("")  # what follows the trailing delimiter of `--parsable`
ANYTHING = re.compile(_ANY)

# Fields whose text is the users' own: they may hold the delimiter and line feeds.
FREE_TEXT = frozenset(
    """
    jobname comment admincomment systemcomment submitline workdir constraints extra stdin stdout stderr
    container wckey licenses mcslabel
""".split()
)

# The fields we read, in lower case; a difference in any other is none.
READ_FIELDS = """
    jobid jobidraw cluster dbindex sluid originalsluid user account partition qos jobname submit eligible start
    end elapsed elapsedraw suspended state exitcode derivedexitcode timelimit timelimitraw nnodes allocnodes
    ntasks alloccpus ncpus reqcpus reqmem reqtres alloctres nodelist totalcpu maxrss averss
    tresusageinave tresusageinmax tresusageintot tresusageouttot admincomment exclusive
""".split()
_KNOWN = (
    set(SHAPES)
    | FREE_TEXT
    | set(
        """
    account blockid cluster user group partition qos flags reason layout reservation qosreq sluid originalsluid
    exclusive oversubscribe failednode jobname
""".split()
    )
)
_NEEDED = ("jobid", "submit", "start", "end", "state")


@dataclass(frozen=True)
class Layout:
    """How a text dump is laid out: its delimiter, its fields in order (lower case), whether a header leads it."""

    delimiter: bytes
    fields: tuple[str, ...]
    has_header: bool


def find_layout(first: bytes, columns: tuple[str, ...], delimiter: str, where: str) -> Layout:
    """The layout that a dump's first lines show, or `columns` and `delimiter` state.

    EvidenceError where neither a header nor `columns` says what is what, or a needed field is missing.
    """
    line = first.split(b"\n", 1)[0].removeprefix(b"\xef\xbb\xbf").rstrip(b"\r")
    text = line.decode("utf-8", "replace")
    found = header(text, delimiter)
    if found:
        return Layout(found.delimiter, _checked(found.fields, where), has_header=True)
    if columns:
        mark = delimiter or _delimiter_for(first, len(columns), where)
        return Layout(mark.encode(), _checked(tuple(c.lower() for c in columns), where), has_header=False)
    if delimiter and header(text):
        raise EvidenceError(
            f"its header is not separated by {delimiter!r}",
            where=where,
            remedy="leave --delimiter out: the header tells it",
        )
    raise EvidenceError(
        "its first line is no header of sacct, scontrol or sacctmgr",
        where=where,
        remedy="name the columns with --columns JobID,JobIDRaw,…, or make the dump with the command that "
        "`audit ingest --help` shows",
    )


def header(text: str, delimiter: str = "") -> Layout | None:
    """The layout that a line states, if it is a header; `delimiter` where it is known, else its first names show it."""
    # A shell that does not know $'…' leaves the words: the delimiter is then those five characters.
    marks = [delimiter] if delimiter else [r"$\x1f", *re.findall(r"[^A-Za-z0-9]+", text)[:1]]
    for mark in marks:
        fields = tuple(name.strip().lower() for name in text.split(mark))
        if "jobid" in fields and sum(name in _KNOWN for name in fields) * 2 >= len(fields):
            return Layout(mark.encode(), fields, has_header=True)
    if text.strip().lower() == "jobid":
        return Layout((delimiter or "|").encode(), ("jobid",), has_header=True)
    return None


def _delimiter_for(first: bytes, count: int, where: str) -> str:
    lines = first.split(b"\n")[:-1] or [first]
    for mark in ("\x1f", "|", "\t", "\x01", "\x1e", ";", "^", "~", ","):
        fitting = sum(line.count(mark.encode()) in (count - 1, count) for line in lines)
        if fitting * 2 > len(lines):
            return mark
    raise EvidenceError(
        f"no delimiter parts its lines into the {count} columns named",
        where=where,
        remedy="check --columns, or add --delimiter",
    )


def missing_fields(fields: tuple[str, ...]) -> list[str]:
    """What `fields` lack of what an audit needs."""
    missing = [name for name in _NEEDED if name not in fields]
    return missing if {"alloctres", "alloccpus", "ncpus"} & set(fields) else [*missing, "alloctres"]


def _checked(fields: tuple[str, ...], where: str) -> tuple[str, ...]:
    """`fields` (an empty last one is `--parsable`'s trailing delimiter); EvidenceError where they do not suffice."""
    if missing := missing_fields(fields):
        proper = {name.lower(): name for name in SITE_FIELDS}
        raise EvidenceError(
            f"columns missing: {', '.join(proper[name] for name in missing)}",
            where=where,
            remedy=f"make the dump with: {sacct_command()}",
        )
    doubled = {name for name in fields if fields.count(name) > 1}
    if doubled:
        raise EvidenceError(f"columns named twice: {', '.join(sorted(doubled))}", where=where, remedy="name each once")
    return fields
