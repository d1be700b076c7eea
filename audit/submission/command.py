"""`[sbatch options] job.sbatch [script arguments]` as a submission."""

import getpass
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from audit.errors import UsageError
from audit.submission import script
from audit.submission.options import Said, Stray, Word, scan
from audit.submission.records import Notes, Request, Submission, clean, shown
from audit.submission.shape import GPU_OPTIONS, MEM_OPTIONS, READERS, Shape, request_of, shape_of

_COMMAND_LINE = "the command line"
# A component of a heterogeneous job has these from the one before it where it says nothing else.
_CARRIED = {"account", "job-name", "qos", "time"}
_NAMES = ("account", "job-name", "partition", "qos", "constraint")


def from_command(words: Sequence[str]) -> Submission:
    """What `sbatch WORDS` would submit: options, then a script (its `#SBATCH` lines count too), then its arguments.

    The command line wins over the script; the environment (`SBATCH_…`) is not read, since it is ours, not the
    job's. Where sbatch would refuse the submission, and where a value cannot be read, a warning says so and the
    value is unknown. UsageError where there is nothing to submit or the script is not there.
    """
    notes = Notes()
    unknown: list[str] = []
    typed, path = _command_line([clean(word) for word in words], notes, unknown)
    wrapped = any(said.name == "wrap" for each in typed for said in each)
    written: list[list[Said]] = [[]]
    name = "wrap" if wrapped else "sbatch"  # as sbatch names a script that it reads from standard input
    if path is not None and wrapped:
        notes.add(f"{_COMMAND_LINE}: sbatch takes no script beside --wrap: {shown(path)} is not read")
    elif path is not None:
        name = PurePath(path).name or name
        text = script.script_text(path)
        written = [_directives(each, notes, unknown) for each in script.components(text, notes)]
    elif not any(typed):
        raise UsageError("names no job", where="estimate", remedy="give sbatch options and a script after --")
    elif not wrapped:
        notes.add("no script is named: only the options of the command line are read")
    requests = _requests(written, typed, name, notes)
    return Submission(requests, notes.lines(), tuple(dict.fromkeys(unknown)), "script")


def running_user() -> str | None:
    """The login name of whoever runs this; None where the system does not tell."""
    try:
        return clean(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return None


def _command_line(words: Sequence[str], notes: Notes, unknown: list[str]) -> tuple[list[list[Said]], str | None]:
    """The options of each component (` : ` stands between them), and the script's path."""
    placed = [Word(word, _COMMAND_LINE) for word in words]
    found: list[list[Said]] = [[]]
    at: int | None = 0
    while at is not None:
        start, at = at, None
        for item in scan(placed, notes, unknown, start):
            if isinstance(item, Said):
                found[-1].append(item)
            elif item.word.text != ":":
                return found, item.word.text
            else:
                found.append([])
                at = item.after
    return found, None


def _directives(words: Sequence[Word], notes: Notes, unknown: list[str]) -> list[Said]:
    """The options among a script's words; what is none is noted and passed over."""
    found: list[Said] = []
    at: int | None = 0
    while at is not None:
        start, at = at, None
        for item in scan(words, notes, unknown, start):
            if isinstance(item, Stray):
                notes.add(f"{item.word.where}: {shown(item.word.text)} is no option: sbatch refuses the script")
                at = item.after
            else:
                found.append(item)
    return found


def _requests(
    written: Sequence[Sequence[Said]], typed: Sequence[Sequence[Said]], name: str, notes: Notes
) -> tuple[Request, ...]:
    """A request for each component: what it has from the one before, then the script's word, then the command's."""
    user = running_user()
    options: dict[str, Said] = {}
    found = []
    for place in range(max(len(written), len(typed))):
        options = {key: said for key, said in options.items() if key in _CARRIED}
        for said in (*written[place : place + 1], *typed[place : place + 1]):
            for option in said:
                options.pop(option.name, None)  # the last one said stands last
                options[option.name] = option
                if option.name in READERS and READERS[option.name](option.value) is None:
                    notes.add(
                        f"{option.where}: --{option.name}={shown(option.value)} cannot be read: it counts as unknown"
                    )
                if option.name == "oversubscribe":
                    options.pop("exclusive", None)
        found.append(_request(options, user, name, notes))
    if len(found) > 1 and any(request.array_tasks for request in found):
        notes.add("a heterogeneous job cannot be an array: sbatch refuses it")
    return tuple(found)


def _request(options: dict[str, Said], user: str | None, name: str, notes: Notes) -> Request:
    sizes = {key: said.value for key, said in options.items() if key in READERS}
    _note(options, shape_of(sizes), notes)
    names = {key: options[key].value or None for key in _NAMES if key in options}
    exclusive = "exclusive" in options and options["exclusive"].value in ("", "exclusive")
    return replace(
        request_of(sizes),
        user=user,
        account=names.get("account"),
        job_name=names.get("job-name", name),
        partition=names.get("partition"),
        qos=names.get("qos"),
        constraint=names.get("constraint"),
        exclusive=exclusive,
    )


def _note(options: dict[str, Said], shape: Shape, notes: Notes) -> None:
    """What contradicts itself or does not say enough."""
    mem = [name for name in options if name in MEM_OPTIONS]
    if len(mem) > 1:
        ways = " and ".join(f"--{name}" for name in mem)
        notes.add(f"{options[mem[-1]].where}: sbatch refuses {ways} together: --{mem[-1]} is taken")
    if "cpus-per-gpu" in options and "cpus-per-task" in options:
        notes.add("--cpus-per-gpu and --cpus-per-task contradict each other: --cpus-per-task is taken")
    if "gpus-per-socket" in options and "sockets-per-node" not in options:
        notes.add("--gpus-per-socket without --sockets-per-node: how many GPUs is unknown")
    if shape.per_node_on_one:
        notes.add("what is asked for per node is reckoned for one node: how many nodes is not said")
    gpus = [name for name in GPU_OPTIONS if name in options and (name != "gres" or "gpu" in options[name].value)]
    if len(gpus) > 1 and gpus != ["gpus", "gpus-per-node"]:
        notes.add(f"GPUs are asked for in several ways: --{gpus[0]} is taken")
    mem_is_said = mem and READERS[mem[-1]](options[mem[-1]].value)
    if mem_is_said and shape.mem_bytes is None and shape.cores and shape.on_nodes:
        notes.add(f"--{mem[-1]}={shown(options[mem[-1]].value)}: how much that is in total is unknown")
