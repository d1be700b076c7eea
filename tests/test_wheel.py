"""The wheel alone, in an empty environment far from the checkout: what a customer installs is what runs."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

# One environment serves all: the tests of this file stay on one worker.
CHECKOUT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command to its good end, without the checkout in its sight."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that holds the built wheel and its dependencies, nothing else."""
    place = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place, CHECKOUT, cwd=place)
    (wheel,) = place.glob("*.whl")
    venv.create(place / "venv", with_pip=True)
    programs = place / "venv" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=place)
    return programs


def test_the_bare_install_shows_its_help(installed: Path, tmp_path: Path) -> None:
    for command in ((installed / "audit",), (installed / "python", "-m", "audit")):
        shown = run(*command, "--help", cwd=tmp_path).stdout
        assert "ingest" in shown
        assert "report" in shown


def test_no_development_tool_comes_with_it(installed: Path, tmp_path: Path) -> None:
    listed = run(installed / "python", "-m", "pip", "list", "--format", "freeze", cwd=tmp_path).stdout
    names = {line.partition("==")[0] for line in listed.splitlines()}
    assert "capacity-audit" in names
    assert not names & {
        "pytest",
        "hypothesis",
        "ruff",
        "mypy",
        "import-linter",
        "slurm2sql",
        "pandas",
        "pyarrow",
    }


def test_a_pipeline_from_sample_to_report_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    month = tmp_path / "month"
    run(installed / "audit", "demo", month, "--jobs", "500", "--gpus", "16", "--days", "7", cwd=tmp_path)
    (report,) = month.glob("out/**/*.pdf")
    assert report.read_bytes().startswith(b"%PDF")
    text = run("pdftotext", "-layout", report, "-", cwd=tmp_path).stdout
    # Figures of a generated month must never pass for a customer's.
    assert "sample" in text.lower()
