"""Runs one playbook over some hosts through ansible-runner and answers what each host said.

Results come from Ansible's events, never from its printed text. What a host says is data: it is parsed here and meets
no template. SSH, bastions, users and privilege escalation are the user's own: `~/.ssh/config`, `ansible.cfg`,
`ANSIBLE_*`, the inventory's variables.
"""

import base64
import json
import os
import shlex
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from audit.errors import AuditError
from audit.fleet.program import build_program
from audit.materials import material

Told = Callable[[str, str], None]  # host, what became of it
_ENDINGS = ("runner_on_ok", "runner_on_failed", "runner_on_unreachable")
# Notices a cut network in half a minute; whatever the user's own SSH settings say goes first.
_KEEP_ALIVE = "-o ServerAliveInterval=5 -o ServerAliveCountMax=4"


@dataclass(frozen=True)
class Reach:
    """How hosts are reached: the inventory, and what the command line adds to the user's own Ansible settings."""

    inventory: Path | None = None
    folder: Path = Path()
    python: str = ""
    local: frozenset[str] = frozenset()
    become: bool = False
    become_method: str = ""
    user: str = ""
    forks: int = 0
    ssh_common_args: str = ""


@dataclass(frozen=True)
class Answer:
    """What one host said: `value` where the step was done; else `error`, and whether it could be reached at all.

    `started_s` and `ended_s` bound the moment of the answer, by the appliance's clock.
    """

    host: str
    value: Mapping[str, Any]
    error: str = ""
    unreachable: bool = False
    changed: bool = False
    started_s: float = 0.0
    ended_s: float = 0.0

    @property
    def done(self) -> bool:
        """Whether the step was done."""
        return not self.error


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
    answers: dict[str, Answer] = {}
    said: list[str] = []
    with tempfile.TemporaryDirectory(prefix="audit-fleet-") as name:
        private = Path(name)
        program = build_program(private)
        inventory = private / "hosts.json"
        inventory.write_text(json.dumps(_inventory(tuple(requests), reach)))

        def heard(event: Mapping[str, Any]) -> bool:
            answer = _answer(event)
            if answer is not None:
                answers[answer.host] = _both(answers.get(answer.host), answer)
                if answer.error or answer.value:
                    told(answer.host, answer.error or ("changed" if answer.changed else "ok"))
            elif event.get("event") in ("error", "verbose") and event.get("stdout"):
                said.append(str(event["stdout"]))
            return False  # nothing is kept in the private folder

        given = {
            "audit_program": str(program),
            "audit_python": reach.python,
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
    return {host: _whole(answers.get(host) or missing[host]) for host in requests}


def _whole(answer: Answer) -> Answer:
    """The answer, with an error where what the host printed is none of ours."""
    return answer if answer.value or answer.error else replace(answer, error="no answer of ours")


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
        *(["--user", reach.user] if reach.user else []),
        *(["--become"] if reach.become else []),
        *(["--become-method", reach.become_method] if reach.become_method else []),
        *(["--ssh-common-args", reach.ssh_common_args] if reach.ssh_common_args else []),
    ]
    sources = [str(reach.inventory.absolute())] if reach.inventory else []
    ansible_runner.run(
        private_data_dir=str(private),
        playbook=str(folder / f"{playbook}.yml"),
        inventory=[*sources, str(inventory)],
        extravars=dict(variables),
        envvars=_environment(private, folder, reach),
        cmdline=shlex.join(words) or None,
        forks=reach.forks or None,
        quiet=True,
        event_handler=heard,
    )


def _hang_up(sockets: Path) -> None:
    """Ends the connections Ansible keeps for reuse, so that nobody stays logged in on a node."""
    for socket in sockets.iterdir() if sockets.is_dir() else ():
        subprocess.run(["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "any"], capture_output=True, check=False)


def _environment(private: Path, playbooks: Path, reach: Reach) -> dict[str, str]:
    """What ansible-playbook gets beside the user's own environment, which goes first where it says something."""
    config = reach.folder.absolute() / "ansible.cfg"
    defaults = {
        "ANSIBLE_REMOTE_TMP": "/tmp",  # a folder of its own is made there, and nothing left at home
        "ANSIBLE_SSH_EXTRA_ARGS": _KEEP_ALIVE,
        "ANSIBLE_SSH_USETTY": "0",  # standard output stays apart from what sudo and shells say
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(private / "cp"),
        "ANSIBLE_DEPRECATION_WARNINGS": "0",
        **({"ANSIBLE_CONFIG": str(config)} if config.is_file() else {}),
    }
    return {
        "PATH": programs_on_path(),
        "ANSIBLE_ACTION_PLUGINS": str(playbooks / "action_plugins"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_RETRY_FILES_ENABLED": "0",
    } | {name: os.environ.get(name, value) for name, value in defaults.items()}


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


def _answer(event: Mapping[str, Any]) -> Answer | None:
    """The answer in an event that ends a task on a host; None for every other event."""
    if event.get("event") not in _ENDINGS:
        return None
    data = event.get("event_data") or {}
    result = data.get("res") or {}
    value = _value(str(result.get("stdout") or ""))
    error = str(value.pop("error", ""))
    if not error and event["event"] == "runner_on_unreachable":
        error = f"cannot be reached: {_line(result.get('msg')).rpartition('via ssh: ')[2]}"
    elif not error and event["event"] == "runner_on_failed":
        error = _line(result.get("stderr") or result.get("module_stderr") or result.get("msg") or result.get("stdout"))
    return Answer(
        host=str(data.get("host")),
        value=value,
        error=error,
        unreachable=event["event"] == "runner_on_unreachable",
        changed=bool(result.get("changed")),
        started_s=_moment_s(data.get("start")),
        ended_s=_moment_s(data.get("end")),
    )


def _both(earlier: Answer | None, later: Answer) -> Answer:
    """The answer of a host after one more task: the first value stays, an error is never forgotten."""
    if earlier is None or not earlier.value:
        return later if earlier is None or not earlier.error else earlier
    return replace(
        earlier,
        error=earlier.error or later.error,
        unreachable=earlier.unreachable or later.unreachable,
        changed=earlier.changed or later.changed,
    )


def _value(printed: str) -> dict[str, Any]:
    """The JSON object on the last line; empty where there is none."""
    for line in reversed(printed.splitlines()):
        if line.startswith("{"):
            try:
                value = json.loads(line)
            except ValueError:
                return {}
            return value if isinstance(value, dict) else {}
    return {}


def _line(text: object) -> str:
    """The line of an error text that says most: its last."""
    lines = [line.strip() for line in str(text or "it said nothing").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


def _moment_s(text: object) -> float:
    try:
        return datetime.fromisoformat(str(text)).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
