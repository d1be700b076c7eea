"""A submission as records, and the notes taken while it was read."""

from dataclasses import dataclass

_MOST_NOTES = 30  # a hostile script must not fill the screen
_SHOWN = 60  # characters of a text that a note repeats


@dataclass(frozen=True)
class Request:
    """One component of a submission; None where it is not said or cannot be read.

    Of an array these are the amounts of one task. Where only options are given (a script, `sbatch`'s command
    line), tasks and cores follow Slurm's defaults: one task a node, one core a task. Hardware threads, which only
    the cluster knows (`--hint`, `--threads-per-core`), are not reckoned with. Per-node amounts are taken for one
    node where Slurm is left to choose how many; a note of the submission says so.
    """

    user: str | None = None  # the one running the command, unless said; of JSON only what is said
    account: str | None = None
    job_name: str | None = None
    partition: str | None = None  # as written: may be several, `a,b`
    qos: str | None = None
    constraint: str | None = None
    nodes: int | None = None  # the fewest, of a range; None where Slurm may choose
    tasks: int | None = None
    cores: float | None = None  # Slurm CPUs, total over nodes
    mem_bytes: int | None = None  # total over nodes; None where not said or whole node
    gpus: float | None = None  # total over nodes, whole-card equivalents; 0 where none is asked for
    gpu_type: str | None = None  # of most of them
    shards: float | None = None  # total of `shard` and `mps`; 0 where none is asked for
    time_limit_s: float | None = None  # rounded up to minutes, as Slurm does; None where none or UNLIMITED
    array_tasks: int | None = None  # None where it is no array
    exclusive: bool = False
    whole_node_mem: bool = False  # `--mem=0`
    options: tuple[tuple[str, str], ...] = ()  # sbatch's, of those that say how much, in the order said


@dataclass(frozen=True)
class Submission:
    """What was submitted: a component each, what is odd about it (one line each), and the options nobody knows."""

    requests: tuple[Request, ...]
    warnings: tuple[str, ...]
    unknown: tuple[str, ...]
    source: str  # "script", "job" or "json"


class Notes:
    """One-line warnings in the order they came, each once, and no more than can be read."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}
        self._more = 0

    def add(self, line: str) -> None:
        """Takes a warning."""
        if line in self._lines:
            return
        if len(self._lines) < _MOST_NOTES:
            self._lines[line] = None
        else:
            self._more += 1

    def lines(self) -> tuple[str, ...]:
        """The warnings; the last says how many more there were."""
        return (*self._lines, *([f"and {self._more} more warnings"] if self._more else []))


def shown(text: str) -> str:
    """A text of unknown origin inside a message: quoted, short, nothing in it can move the cursor."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def clean(text: str) -> str:
    """A text that can be encoded: bytes that are no UTF-8 become their codes, as in the evidence."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
