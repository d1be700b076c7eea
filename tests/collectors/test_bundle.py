"""The zip application: the same octets from the same sources, and one line for whatever it is used wrongly."""

import json
import zipfile
from pathlib import Path

import pytest

from audit.fleet.bundle import build
from tests.collectors.nvml.pythons import WANTED, interpreter
from tests.collectors.program import Installed, install

FITTING = {"format": 1, "cluster": "c", "node": "n", "from_s": 1, "to_s": 2}
WRONG: dict[str, object] = {
    "no file": None,
    "no JSON": "{",
    "no table": [],
    "another format": {**FITTING, "format": 2},
    "no node": {**FITTING, "node": ""},
    "a window that ends before it begins": {**FITTING, "to_s": 0.5},
    "a role there is not": {**FITTING, "roles": ["root"]},
    "no role": {**FITTING, "roles": []},
    "a sample that is no number": {**FITTING, "sample_s": "10"},
    "a sample of no length": {**FITTING, "sample_s": 0},
    "a truth for a number": {**FITTING, "interval_s": True},
    "no number at all": {**FITTING, "to_s": float("nan")},
    "a library that is no path": {**FITTING, "nvml_library": ["x"]},
    "a command that is none": {**FITTING, "slurm_commands": {"scontrol": 7}},
}


@pytest.fixture
def collector(tmp_path: Path) -> Installed:
    return install(tmp_path / "c")


def test_the_same_sources_give_the_same_octets(tmp_path: Path) -> None:
    first, second = build(tmp_path / "a"), build(tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert {"__main__.py", "audit_collector/life.py", "pynvml.py"} <= set(names)
    assert all(name.endswith(".py") for name in names)


@pytest.mark.parametrize("version", WANTED)
def test_every_python_runs_it(collector: Installed, version: str) -> None:
    collector.python = interpreter(version)
    collector.window()
    assert collector.do("run").returncode == 0
    assert {"python", "disk_free_bytes", "now_s", "cgroup_layout"} <= json.loads(collector.do("check").stdout).keys()
    assert collector.status()["ended"] == "window"
    assert [one["name"] for one in json.loads(collector.do("segments").stdout)] == [
        path.name for path in collector.segments()
    ]


@pytest.mark.parametrize("what", WRONG)
def test_wrong_settings_are_one_line(collector: Installed, what: str) -> None:
    told = WRONG[what]
    if told is not None:
        (collector.folder / "window.json").write_text(told if isinstance(told, str) else json.dumps(told))
    done = collector.do("run")
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert "window.json" in done.stderr
    assert not collector.spool.exists()


@pytest.mark.parametrize("arguments", [[], ["sample"], ["run", "--fast"], ["run", "--role", "root"], ["run", "--dir"]])
def test_wrong_use_is_one_line(collector: Installed, arguments: list[str]) -> None:
    done = collector.do(*arguments) if arguments else collector.do("")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_what_never_ran_has_a_status(collector: Installed) -> None:
    collector.window()
    told = collector.status()
    assert (told["alive"], told["ended"], told["watched_s"], told["segments_closed"]) == (False, None, 0, 0)
