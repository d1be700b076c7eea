"""sbatch's options as getopt_long reads them: long ones and their abbreviations, short ones joined or apart."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from audit.submission.records import Notes, shown

# sbatch's man pages of 22.05 to 24.11; what takes a value, none, or one only after `=`.
_VALUE = """
    account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment constraint container
    container-id core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency
    distribution error exclude export export-file extra extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node
    gpus-per-socket gpus-per-task gres gres-flags hint input job-name kill-on-invalid-dep licenses mail-type mail-user
    mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nodefile nodelist nodes ntasks ntasks-per-core
    ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres open-mode output partition power prefer priority
    profile qos reservation segment signal sockets-per-node switches tasks-per-node thread-spec threads-per-core time
    time-min tmp tres-bind tres-per-task uid wait-all-nodes wckey wrap
""".split()
_NONE = """
    contiguous help hold ignore-pbs no-requeue overcommit oversubscribe parsable quiet reboot requeue spread-job stepmgr
    test-only usage use-min-nodes verbose version wait
""".split()
_OPTIONAL = "exclusive get-user-env nice no-kill oom-kill-step propagate resv-ports".split()
_SHORT = {
    **{"A": "account", "B": "extra-node-info", "C": "constraint", "D": "chdir", "F": "nodefile", "G": "gpus"},
    **{"H": "hold", "J": "job-name", "L": "licenses", "M": "clusters", "N": "nodes", "O": "overcommit", "Q": "quiet"},
    **{"S": "core-spec", "V": "version", "W": "wait", "a": "array", "b": "begin", "c": "cpus-per-task"},
    **{"d": "dependency", "e": "error", "h": "help", "i": "input", "k": "no-kill", "m": "distribution", "n": "ntasks"},
    **{"o": "output", "p": "partition", "q": "qos", "s": "oversubscribe", "t": "time", "v": "verbose"},
    **{"w": "nodelist", "x": "exclude"},
}
_SAME = {"tasks-per-node": "ntasks-per-node", "ntasks-per-tres": "ntasks-per-gpu"}
_TAKES = {**dict.fromkeys(_VALUE, "value"), **dict.fromkeys(_NONE, "none"), **dict.fromkeys(_OPTIONAL, "optional")}


class Word(NamedTuple):
    """One word of a command line or a script's directives, and where it stands."""

    text: str
    where: str


class Said(NamedTuple):
    """An option by its long name, with its value ("" where it takes none), and where it stands."""

    name: str
    value: str
    where: str


class Stray(NamedTuple):
    """A word that is no option, and the place in the list after it."""

    word: Word
    after: int


def scan(words: Sequence[Word], notes: Notes, unknown: list[str], start: int = 0) -> Iterator[Said | Stray]:
    """The options that stand from `start`, up to the first word that is none: that one is the last to come.

    What sbatch would not know goes to `unknown`, as written, and is named in a note.
    """
    at = start
    while at < len(words):
        word = words[at]
        at += 1
        if word.text == "--":
            if at < len(words):
                yield Stray(words[at], at + 1)
            return
        if len(word.text) < 2 or not word.text.startswith("-"):
            yield Stray(word, at)
            return
        following = words[at].text if at < len(words) else None
        if word.text.startswith("--"):
            said, eaten = _long(word, following, notes, unknown)
            found = [said] if said else []
        else:
            found, eaten = _short(word, following, notes, unknown)
        at += eaten
        yield from found


def _long(word: Word, following: str | None, notes: Notes, unknown: list[str]) -> tuple[Said | None, bool]:
    """`--name`, `--name=value`, `--name value`; whether the following word was its value."""
    written, equals, value = word.text[2:].partition("=")
    names = [written] if written in _TAKES else [name for name in _TAKES if name.startswith(written)]
    if len(names) != 1:
        unknown.append(word.text)
        why = f"may be {' or '.join(f'--{name}' for name in names[:4])}" if names else "is no option of sbatch"
        notes.add(f"{word.where}: {shown(word.text)} {why}: it is not read")
        return None, False
    name = names[0]
    takes = _TAKES[name]
    if equals and takes == "none":
        notes.add(f"{word.where}: --{name} takes no value: sbatch refuses {shown(word.text)}")
    if equals or takes != "value":
        return Said(_SAME.get(name, name), value, word.where), False
    if following is None:
        notes.add(f"{word.where}: --{name} lacks its value: it is not read")
        return None, False
    return Said(_SAME.get(name, name), following, word.where), True


def _short(word: Word, following: str | None, notes: Notes, unknown: list[str]) -> tuple[list[Said], bool]:
    """`-n4`, `-n 4`, `-Hn4`; whether the following word was a value."""
    found: list[Said] = []
    meant = word.text[1:].partition("=")[0]
    if meant in _TAKES:
        notes.add(f"{word.where}: sbatch reads {shown(word.text)} as -{meant[0]}; --{meant} takes two hyphens")
    for place, letter in enumerate(word.text[1:], start=2):
        name = _SHORT.get(letter)
        if name is None:
            unknown.append(word.text)
            notes.add(f"{word.where}: {shown(f'-{letter}')} is no option of sbatch: {shown(word.text)} is not read")
            return found, False
        rest = word.text[place:]
        if _TAKES[name] == "none":
            found.append(Said(name, "", word.where))
        elif rest or _TAKES[name] == "optional":
            return [*found, Said(name, rest, word.where)], False
        elif following is None:
            notes.add(f"{word.where}: -{letter} lacks its value: it is not read")
            return found, False
        else:
            return [*found, Said(name, following, word.where)], True
    return found, False
