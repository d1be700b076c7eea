"""The node program: one file that needs `sh` and a Python 3.6 or newer, and answers one line of JSON."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from audit.errors import AuditError, UsageError
from audit.fleet.ansible import Reach, ask
from audit.fleet.program import build_program
from tests.collectors.nvml.pythons import WANTED, interpreter


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_program(tmp_path_factory.mktemp("program"))


def run(program: Path, python: str, verb: str, request: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    packed = base64.b64encode(json.dumps(request or {}).encode()).decode()
    done = subprocess.run(["sh", program, python, verb, packed], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_the_same_sources_give_the_same_bytes(program: Path, tmp_path: Path) -> None:
    assert build_program(tmp_path).read_bytes() == program.read_bytes()


@pytest.mark.parametrize("named", WANTED)
def test_every_python_runs_it(program: Path, named: str) -> None:
    python = interpreter(named)
    status, answer = run(program, python, "check")
    assert status == 0, answer
    version = subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"], capture_output=True, text=True, check=True
    )
    assert answer["python"] == version.stdout.strip()
    assert answer["root"] is (os.geteuid() == 0)
    assert answer["cgroup_layout"]
    assert run(program, python, "status") == (0, {"installed": False})


def test_a_python_is_found_where_none_is_given(program: Path) -> None:
    status, answer = run(program, "", "status")
    assert (status, answer) == (0, {"installed": False})


def test_without_a_python_the_answer_says_so(program: Path, tmp_path: Path) -> None:
    # The head alone, without the places in which it looks for one.
    head = program.read_bytes().partition(b"PK\x03\x04")[0].decode()
    bare = tmp_path / "bare.sh"
    bare.write_text(head.replace("/usr/", "/none/"))
    done = subprocess.run(
        ["/bin/sh", bare, "", "status"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 5
    assert "no Python 3.6 or newer" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize("folder", ["/etc", "/tmp/audit-asked-1/../../etc", "/tmp/audit-asked-" + "0" * 31 + "\n", ""])
def test_nothing_is_staged_elsewhere_than_in_its_own_place(program: Path, folder: str) -> None:
    request = {"folder": folder, "fields": [], "days": [], "since": "2026-05-01", "sreport": []}
    status, answer = run(program, "", "accounting", request)
    assert status == 5
    assert "no place for this" in answer["error"]


def test_a_machine_is_asked_through_ansible_and_one_that_is_not_there_is_named() -> None:
    reach = Reach(local=frozenset({"localhost"}))
    answers = ask("status", {"localhost": {}, "nowhere.invalid": {}}, reach)
    assert answers["localhost"].value == {"installed": False}
    assert answers["localhost"].done
    assert answers["nowhere.invalid"].unreachable
    assert answers["nowhere.invalid"].error.startswith("cannot be reached: ")


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ("{\"x\": \"{{ lookup('pipe', 'touch MARK') }}\"}", ""),
        ('{"x": "!unsafe {% raw %}`touch MARK`$(touch MARK)"}', ""),
        ("[1, 2]", "no answer of ours"),
        ("\\0\\377 garbage", "no answer of ours"),
        ('{"x": ', "no answer of ours"),
        ('{"x": ' + "[" * 100_000, "no answer of ours"),
        ('{"watched_s": NaN}', "no answer of ours"),
        ('{"watched_s": 1e999}', "no answer of ours"),
        ('{"watched_s": ' + "9" * 4000 + "}", "no answer of ours"),
    ],
)
def test_what_a_machine_answers_is_data(tmp_path: Path, printed: str, says: str) -> None:
    mark = tmp_path / "mark"
    answer = tmp_path / "answer"
    answer.write_text(printed.replace("MARK", str(mark)))
    python = tmp_path / "python"  # what the machine runs for a Python
    python.write_text(f'#!/bin/sh\n[ "$2" = -c ] || cat {answer}\n')
    python.chmod(0o755)
    reach = Reach(local=frozenset({"localhost"}), python=str(python))
    told = ask("status", {"localhost": {}}, reach)["localhost"]
    assert told.error == says
    assert told.value == ({} if says else json.loads(answer.read_text()))
    assert not mark.exists()


@pytest.mark.parametrize("does", ["exec sleep 60", "exec yes '{\"installed\": true}'", "kill -9 $$"])
def test_a_machine_that_never_ends_or_never_says_anything_is_given_up(tmp_path: Path, does: str) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n[ "$2" = -c ] || {does}\n')
    python.chmod(0o755)
    reach = Reach(local=frozenset({"localhost"}), python=str(python), patience_s=3)
    told = ask("status", {"localhost": {}}, reach)["localhost"]
    assert not told.done
    assert told.value == {}


def test_an_interrupt_ends_a_step_and_what_comes_after_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n[ "$2" = -c ] || {{ touch {mark}; exec sleep 30; }}\n')
    python.chmod(0o755)
    script = f"""
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever started the tests
from audit.fleet.ansible import Reach, ask
local = frozenset({{"localhost"}})
for python in ("", "{python}"):
    try:
        print(ask("status", {{"localhost": {{}}}}, Reach(local=local, python=python))["localhost"].done, flush=True)
        time.sleep(30)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stdout.readline() == "True\n"
        running.send_signal(signal.SIGINT)  # between two steps
        assert running.stdout.readline() == "interrupted\n"
        while not mark.exists():
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)  # in one
        assert running.stdout.readline() == "interrupted\n"
    assert running.returncode == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"ANSIBLE_STDOUT_CALLBACK": "json", "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"},
        {"ANSIBLE_STDOUT_CALLBACK": "none.such.callback"},
        {"ANSIBLE_NO_LOG": "1", "ANSIBLE_DISPLAY_OK_HOSTS": "0", "ANSIBLE_DISPLAY_FAILED_STDERR": "1"},
        {"ANSIBLE_ANY_ERRORS_FATAL": "1", "ANSIBLE_STRATEGY": "free", "ANSIBLE_GATHERING": "explicit"},
        {"ANSIBLE_FORKS": "1", "ANSIBLE_VERBOSITY": "3", "ANSIBLE_FORCE_COLOR": "1", "ANSIBLE_PIPELINING": "1"},
        {"ANSIBLE_KEEP_REMOTE_FILES": "1"},
    ],
)
def test_settings_of_the_users_do_not_change_what_is_understood(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: dict[str, str]
) -> None:
    for name, value in {**settings, "ANSIBLE_REMOTE_TMP": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    reach = Reach(local=frozenset({"localhost"}))
    answers = ask("status", {"nowhere.invalid": {}, "localhost": {}}, reach)
    assert answers["localhost"].value == {"installed": False}
    assert answers["nowhere.invalid"].unreachable
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "value"), [("ANSIBLE_FORKS", "many"), ("ANSIBLE_VAULT_PASSWORD_FILE", "/none/such")])
def test_a_setting_ansible_cannot_take_is_one_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(AuditError, match="Ansible could not run: ") as refused:
        ask("status", {"localhost": {}}, Reach(local=frozenset({"localhost"})))
    assert len(str(refused.value).splitlines()) == 1


def test_a_configuration_anybody_may_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ansible.cfg").write_text("[defaults]\nforks = 3\n")
    reach = Reach(local=frozenset({"localhost"}), folder=tmp_path)
    assert ask("status", {"localhost": {}}, reach)["localhost"].done
    tmp_path.chmod(0o777)
    with pytest.raises(UsageError, match="may be written by anybody"):
        ask("status", {"localhost": {}}, reach)
