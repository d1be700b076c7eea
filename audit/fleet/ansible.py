"""Runs one playbook over some hosts through ansible-runner and answers what each host said.

Results come from Ansible's events, never from its printed text. What a host says is data: it is parsed here and meets
no template. SSH, bastions, users and privilege escalation are the user's own: `~/.ssh/config`, `ansible.cfg`,
`ANSIBLE_*`, the inventory's variables.
"""

import base64
import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audit.errors import AuditError, UsageError
from audit.fleet.answer import Answer, answer_in, both, whole
from audit.fleet.program import build_program
from audit.materials import material

Told = Callable[[str, str], None]  # host, what became of it
# Notices a cut network in half a minute; whatever the user's own SSH settings say goes first.
_KEEP_ALIVE = "-o ServerAliveInterval=5 -o ServerAliveCountMax=4"
_LARGEST_FILE_KIB = 4 * 2**20  # of what a host sends; a day's accounting of a large site is tens of MiB
_MEMORY_KIB = 2 * 2**20  # of one process of Ansible's
# What we read from Ansible and what it leaves on hosts does not depend on the user's settings.
_FIXED = {
    "ANSIBLE_ANY_ERRORS_FATAL": "0",
    "ANSIBLE_DISPLAY_ARGS_TO_STDOUT": "0",
    "ANSIBLE_DISPLAY_FAILED_STDERR": "0",
    "ANSIBLE_DISPLAY_OK_HOSTS": "1",
    "ANSIBLE_KEEP_REMOTE_FILES": "0",
    "ANSIBLE_NOCOLOR": "1",
    "ANSIBLE_NO_LOG": "0",
    "ANSIBLE_RETRY_FILES_ENABLED": "0",
    "ANSIBLE_STDOUT_CALLBACK": "",
    "ANSIBLE_STRATEGY": "linear",
}


@dataclass(frozen=True)
class Reach:
    """How hosts are reached: the inventory, and what the command line adds to the user's own Ansible settings.

    `patience_s`: a step that takes longer on a host is given up (where disks or file servers hang it never ends).
    """

    inventory: Path | None = None
    folder: Path = Path()
    python: str = ""
    local: frozenset[str] = frozenset()
    become: bool = False
    become_method: str = ""
    user: str = ""
    forks: int = 0
    ssh_common_args: str = ""
    patience_s: int = 300


def ask(
    playbook: str,
    requests: Mapping[str, Mapping[str, Any]],
    reach: Reach,
    *,
    told: Told = lambda host, what: None,
    variables: Mapping[str, str] | None = None,
) -> dict[str, Answer]:
    """Runs `playbook` with one request per host; one answer per host, in the order of the requests.

    A host whose later task fails keeps the value of the earlier one beside the error. AuditError where Ansible itself
    cannot run.
    """
    if not requests:
        return {}
    path = programs_on_path()
    if set(requests) - reach.local and shutil.which("ssh", path=path) is None:
        raise UsageError("there is no `ssh` on this machine", remedy="install OpenSSH's client, then run this again")
    answers: dict[str, Answer] = {}
    said: list[str] = []
    with tempfile.TemporaryDirectory(prefix="audit-fleet-") as name:
        private = Path(name)
        program = build_program(private)
        inventory = private / "hosts.json"
        inventory.write_text(json.dumps(_inventory(tuple(requests), reach)))

        def heard(event: Mapping[str, Any]) -> bool:
            answer = answer_in(event)
            if answer is not None:
                answers[answer.host] = both(answers.get(answer.host), answer)
                if answer.error or answer.value:
                    told(answer.host, answer.error or ("changed" if answer.changed else "ok"))
            elif event.get("event") in ("error", "verbose") and event.get("stdout"):
                said.append(str(event["stdout"]))
            return False  # nothing is kept in the private folder

        given = {
            "audit_program": str(program),
            "audit_python": reach.python,
            "audit_patience_s": reach.patience_s,
            "audit_requests": {host: _packed(request) for host, request in requests.items()},
            **(variables or {}),
        }
        try:
            _run(private, playbook, inventory, given, reach, heard)
        finally:
            _hang_up(private / "cp")
    silent = [host for host in requests if host not in answers]
    if len(silent) == len(requests):
        why = next((line for line in said if "ERROR" in line), said[-1] if said else "it said nothing")
        raise AuditError(
            f"Ansible could not run: {why}", remedy="mend the inventory or Ansible's settings, run it again"
        )
    missing = {host: Answer(host, {}, "gave no answer", unreachable=True) for host in silent}
    return {host: whole(answers.get(host) or missing[host]) for host in requests}


def _run(
    private: Path,
    playbook: str,
    inventory: Path,
    variables: Mapping[str, Any],
    reach: Reach,
    heard: Callable[[Mapping[str, Any]], bool],
) -> None:
    import ansible_runner

    folder = material("playbooks")
    words = [
        *(str(folder / "bounded.sh"), str(_LARGEST_FILE_KIB), str(_MEMORY_KIB)),
        *("ansible-playbook", str(folder / f"{playbook}.yml")),
        *(["--user", reach.user] if reach.user else []),
        *(["--become"] if reach.become else []),
        *(["--become-method", reach.become_method] if reach.become_method else []),
        *(["--ssh-common-args", reach.ssh_common_args] if reach.ssh_common_args else []),
    ]
    sources = [str(reach.inventory.absolute())] if reach.inventory else []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ran = ansible_runner.run(
            private_data_dir=str(private),
            binary="/bin/sh",
            inventory=[*sources, str(inventory)],
            extravars=dict(variables),
            envvars=_environment(private, folder, reach),
            cmdline=shlex.join(words),
            forks=reach.forks or None,
            quiet=True,
            event_handler=heard,
        )
    finally:
        for number, handler in handlers.items():  # ansible-runner keeps its own, which end nothing but a run of its
            signal.signal(number, handler)
    if ran.status == "canceled":
        raise KeyboardInterrupt


def _hang_up(sockets: Path) -> None:
    """Ends the connections Ansible keeps for reuse, so that nobody stays logged in on a node."""
    for socket in sockets.iterdir() if sockets.is_dir() else ():
        subprocess.run(["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "any"], capture_output=True, check=False)


def _environment(private: Path, playbooks: Path, reach: Reach) -> dict[str, str]:
    """What ansible-playbook gets beside the user's own environment, which goes first where it says something."""
    config = _own_config(reach.folder.absolute() / "ansible.cfg")
    defaults = {
        "ANSIBLE_HOST_KEY_CHECKING": "1",  # ansible-runner would switch it off
        "ANSIBLE_REMOTE_TMP": "/tmp",  # a folder of its own is made there, and nothing left at home
        "ANSIBLE_SSH_EXTRA_ARGS": _KEEP_ALIVE,
        "ANSIBLE_SSH_USETTY": "0",  # standard output stays apart from what sudo and shells say
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(private / "cp"),
        "ANSIBLE_DEPRECATION_WARNINGS": "0",
        **({"ANSIBLE_CONFIG": str(config)} if config else {}),
    }
    return (
        {"PATH": programs_on_path(), "ANSIBLE_ACTION_PLUGINS": str(playbooks / "action_plugins")}
        | _FIXED
        | {name: os.environ.get(name, value) for name, value in defaults.items()}
    )


def _own_config(config: Path) -> Path | None:
    """The engagement's `ansible.cfg`; UsageError where anybody could have put it there, for it can name programs."""
    if "ANSIBLE_CONFIG" in os.environ or not config.is_file():
        return None
    if any(path.stat().st_mode & stat.S_IWOTH for path in (config, config.parent)):
        raise UsageError("may be written by anybody", where=str(config), remedy=f"chmod o-w {config.parent} {config}")
    return config


def programs_on_path() -> str:
    """Puts Ansible's programs, installed beside this one, first on PATH; answers the PATH."""
    programs, path = sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)
    if programs not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((programs, path))
    return os.environ["PATH"]


def _inventory(hosts: Sequence[str], reach: Reach) -> Mapping[str, Any]:
    """One group, whose hosts are the plain names: what the customer's inventory says of them is added by Ansible."""
    return {
        "audit": {"hosts": {host: {"ansible_connection": "local"} if host in reach.local else {} for host in hosts}}
    }


def _packed(request: Mapping[str, Any]) -> str:
    return base64.b64encode(json.dumps(request).encode()).decode()
