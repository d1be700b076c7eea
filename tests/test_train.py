"""`audit train` from a generated month to models that `audit estimate` answers from."""

import io
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from audit.cli import main
from audit.errors import AuditError, ExitCode
from audit.sizing.training_lock import training_lock
from audit.store import Options, ingest
from audit.workspace import find_workspace


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("month") / "sample"
    made = ["demo", str(folder), "--jobs", "500", "--gpus", "16", "--days", "8", "--only-generate"]
    assert main(made) == ExitCode.DONE
    assert main(["ingest", "--dir", str(folder)]) == ExitCode.DONE
    return folder


def test_from_a_month_to_an_estimate(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["train", "--dir", str(month), "--json"]) == ExitCode.DONE
    said = capsys.readouterr()
    cards = {card["target"]: card for card in json.loads(said.out)}
    assert {"memory", "walltime"} <= cards.keys()
    assert all(card["generated_sample"] and card["data_from"] < card["data_to"] for card in cards.values())
    assert "generated sample" in said.err
    written = {path.name.partition("-")[0] for path in (month / "models").iterdir()}
    assert {"memory", "memory.card.json", "prices.json", "backtest.json", "replay.parquet"} <= written
    assert not any(name.startswith(".") for name in written)
    prices = json.loads((month / "models" / "prices.json").read_text())
    assert prices["usd_per_core_hour"] > 0
    assert all(usd > 0 for usd in prices["usd_per_gpu_hour"].values())
    code = main(["estimate", "--dir", str(month), "--job", "user=nobody,cpus=4,mem=8G,time=60"])
    said = capsys.readouterr()
    assert code == ExitCode.NO_REPORT
    assert "generated sample" in said.err
    assert "the request is kept" in said.out


def test_with_too_little_nothing_is_trained_and_one_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "small"
    made = ["demo", str(folder), "--jobs", "100", "--gpus", "8", "--days", "2", "--only-generate"]
    assert main(made) == ExitCode.DONE
    assert main(["ingest", "--dir", str(folder)]) == ExitCode.DONE
    capsys.readouterr()
    assert main(["train", "--dir", str(folder)]) == ExitCode.NO_REPORT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "audit estimate" in said.err
    assert not (folder / "models").exists()


JOB = "user=nobody,cpus=4,mem=8G,time=60"


@pytest.fixture
def copy(month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The month with its models."""
    if not (month / "models").exists():
        assert main(["train", "--dir", str(month)]) == ExitCode.DONE
    folder = tmp_path / "copy"
    shutil.copytree(month, folder)
    capsys.readouterr()
    return folder


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    return said.err


def test_evidence_made_by_a_generator_marks_the_models_whatever_the_configuration_says(
    month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "unmarked"
    assert main(["init", str(folder), "--cluster", "sample", "--timezone", "UTC"]) == ExitCode.DONE
    files = [str(path) for path in (month / "evidence").glob("*.txt")]
    assert not [r for r in ingest(find_workspace(folder), files, options=Options(generated=True)) if r.error]
    capsys.readouterr()
    assert main(["train", "--dir", str(folder), "--json"]) == ExitCode.DONE
    assert all(card["generated_sample"] for card in json.loads(capsys.readouterr().out))
    assert json.loads((folder / "models" / "backtest.json").read_text())["generated_sample"]


def test_a_second_training_is_refused_and_leaves_all_as_it_is(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in (copy / "models").iterdir()}
    with training_lock(copy / "models"):
        assert main(["train", "--dir", str(copy)]) == ExitCode.FAILED
    assert "another training runs" in one_line(capsys)
    assert {path.name: path.read_bytes() for path in (copy / "models").iterdir()} == before


def test_a_lock_left_by_a_process_that_died_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / ".lock").touch()
    with training_lock(tmp_path / "models"), pytest.raises(AuditError), training_lock(tmp_path / "models"):
        pass
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("name", ["prices.json", "replay.parquet", "memory.card.json"])
def test_a_folder_where_a_file_belongs_stops_a_training_before_it_starts(
    copy: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "models" / name).unlink()
    (copy / "models" / name).mkdir()
    assert main(["train", "--dir", str(copy)]) == ExitCode.FAILED
    assert name in one_line(capsys)


def test_models_that_are_a_file_are_one_line(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(copy / "models")
    (copy / "models").touch()
    assert main(["train", "--dir", str(copy)]) == ExitCode.FAILED
    assert str(copy / "models") in one_line(capsys)


def test_models_of_another_cluster_are_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = copy / "audit.toml"
    lines = ['cluster = "beta"' if line.startswith("cluster =") else line for line in config.read_text().splitlines()]
    config.write_text("\n".join(lines))
    assert main(["estimate", "--dir", str(copy), "--job", JOB]) == ExitCode.FAILED
    assert "beta" in one_line(capsys)


@pytest.mark.parametrize("verb", ["estimate", "report"])
def test_a_pipe_is_not_waited_for(copy: Path, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = {"estimate": "prices.json", "report": "backtest.json"}[verb]
    (copy / "models" / name).unlink()
    os.mkfifo(copy / "models" / name)
    more = ["--job", JOB] if verb == "estimate" else ["--format", "json"]
    assert main([verb, "--dir", str(copy), *more]) == ExitCode.FAILED
    assert name in one_line(capsys)


def test_more_jobs_than_can_be_asked_about_at_once(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps([{"cpus": 1}] * 1001).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["estimate", "--dir", str(copy), "-"]) == ExitCode.USAGE
    assert "1,001 jobs" in one_line(capsys)


@pytest.mark.parametrize(
    "words",
    [
        ["--at", "1969-12-31T23:59:59"],
        ["--at", "2200-01-01"],
        ["--at", "9999-12-31T23:59:59"],
        ["--at", "1970-01-01T00:00:00+02:00"],
        ["--at", "soon"],
        ["--quantile", "abc"],
        ["--quantile", "nan"],
        ["--risk", "abc"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_asked_names_what_can(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["estimate", *words, "--job", JOB])
    assert left.value.code == ExitCode.USAGE
    assert f"argument {words[0]}: expects a " in capsys.readouterr().err
