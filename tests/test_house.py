"""The house around the package: what a newcomer types first works, and what the README says is so."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from audit.errors import ExitCode

CHECKOUT = Path(__file__).resolve().parent.parent
README = (CHECKOUT / "README.md").read_text()
PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())


def run(*command: str | Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path or os.environ["PATH"]}
    return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)


def verbs() -> set[str]:
    """The verbs the command itself lists."""
    shown = run(sys.executable, "-m", "audit", "--help").stdout
    listed = re.search(r"\{([a-z,-]+)\}", shown)
    return set(listed[1].split(",")) if listed else set(re.findall(r"^ {2,4}([a-z]+)(?:  |$)", shown, re.MULTILINE))


def test_make_alone_lists_every_target() -> None:
    declared = re.findall(r"^\.PHONY: (.*)$", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    targets = set(declared[0].split()) - {"system"}
    assert {line.split()[0] for line in run("make", "--no-print-directory").stdout.splitlines()} == targets


def test_without_a_fitting_python_one_line_says_so(tmp_path: Path) -> None:
    for tool in ("sh", "dirname"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    found = run(CHECKOUT / "scripts" / "find-python", path=str(tmp_path))
    assert found.returncode == 1
    assert found.stderr.startswith("no Python 3.11 or newer")
    assert found.stderr.count("\n") == 1


def test_the_python_found_is_new_enough() -> None:
    found = run("scripts/find-python").stdout.strip()
    version = run(found, "-c", "import sys; print(*sys.version_info[:2])").stdout.split()
    assert tuple(map(int, version)) >= (3, 11)


def test_a_missing_system_package_is_one_line_to_act_on(tmp_path: Path) -> None:
    for tool in ("sh", "id"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    asked = run(CHECKOUT / "scripts" / "as-root", "the PDF needs Pango", "libpango-1.0-0", path=str(tmp_path))
    assert asked.returncode == 1
    assert "the PDF needs Pango; run: " in asked.stderr
    assert "libpango-1.0-0" in asked.stderr
    assert asked.stderr.count("\n") == 1


def test_system_libraries_that_are_there_need_nothing() -> None:
    checked = run("scripts/system-packages", "test")
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("script", [*sorted((CHECKOUT / "scripts").iterdir()), CHECKOUT / ".ci" / "run"], ids=str)
def test_scripts_parse_and_may_be_run(script: Path) -> None:
    shell = "bash" if "bash" in script.read_text().splitlines()[0] else "sh"
    assert run(shell, "-n", script).stderr == ""
    assert os.access(script, os.X_OK)


def test_the_readme_names_every_verb() -> None:
    assert verbs() >= {"init", "ingest", "report", "show", "demo"}
    assert {verb for verb in verbs() if f"`audit {verb}" not in README} == set()


def test_the_readme_gives_every_exit_code() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert listed == {code.value for code in ExitCode}


def test_the_readme_is_short_and_its_paths_exist() -> None:
    assert len(README.splitlines()) <= 120
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (CHECKOUT / target).exists(), target


def test_every_make_target_in_the_readme_is_one() -> None:
    made = {line.split()[0] for line in run("make", "--no-print-directory").stdout.splitlines()}
    assert set(re.findall(r"\bmake ([a-z]+)\b", README)) <= made


def test_what_the_wheel_carries_is_in_the_checkout() -> None:
    carried = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {source for source in carried if not (CHECKOUT / source).exists()} == set()


def test_a_generated_dump_is_whole_and_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        made = run(sys.executable, "-m", "benchmarks.sacct_file", "400", tmp_path / name)
        assert made.returncode == 0, made.stderr
    text = (tmp_path / "a.txt").read_bytes()
    assert text == (tmp_path / "b.txt").read_bytes()
    lines = text.decode().splitlines()
    header = lines[0].split("\x1f")
    assert len(lines) == 401
    assert {line.count("\x1f") for line in lines} == {len(header) - 1}
    rows = [dict(zip(header, line.split("\x1f"), strict=True)) for line in lines[1:]]
    assert [row["JobID"] for row in rows[:5]] == ["1", "1.batch", "1.extern", "1.0", "2"]
    # As Slurm has it: the job row holds the request, the steps hold the use.
    assert {(bool(row["ReqMem"]), bool(row["MaxRSS"])) for row in rows if row["State"] != "RUNNING"} == {
        (True, False),
        (False, True),
    }
