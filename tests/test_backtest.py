"""`audit backtest` as a person or a program meets it."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

import audit.sizing.backtest
from audit import cli
from audit.cli import main
from audit.errors import ExitCode
from audit.sizing.attempts import TARGETS
from tests.dumps import dump, job

SCHEMA = json.loads((Path(audit.sizing.backtest.__file__).parent / "backtest.schema.json").read_text())


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backtest") / "month"
    assert main(["demo", str(folder), "--jobs", "1200", "--gpus", "20", "--only-generate"]) == ExitCode.DONE
    assert main(["ingest", "--dir", str(folder)]) == ExitCode.DONE
    return folder


def test_the_targets_that_can_be_asked_for_are_those_there_are() -> None:
    assert set(TARGETS) == set(cli.SIZED)


def test_all_targets_are_scored_written_and_drawn(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["backtest", "--dir", str(month), "--json"]) == ExitCode.DONE
    said = capsys.readouterr()
    shown, kept = json.loads(said.out), json.loads((month / "models" / "backtest.json").read_text())
    assert [e.message for e in Draft202012Validator(SCHEMA).iter_errors(kept)] == []
    assert kept["generated_sample"]
    assert "generated sample" in said.err
    assert {one["target"] for one in kept["targets"]} >= {"memory", "walltime"}
    for one, other in zip(shown["targets"], kept["targets"], strict=True):
        assert one["coverage"] == other["coverage"]
        assert all(row["user"].startswith("u-") for row in one["per_user"]["listed"])  # shown by pseudonym
        root = ElementTree.parse(month / "out" / f"backtest-{one['target']}.svg").getroot()  # noqa: S314
        assert "generated sample" in "".join(root.itertext())
    assert any(one["per_user"]["listed"] for one in shown["targets"])


def test_one_target_at_the_start_is_printed_and_leaves_what_the_report_reads(
    month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = month / "models" / "backtest.json"
    before = kept.read_bytes() if kept.exists() else None
    told = ["--target", "walltime", "--mode", "start", "--out", str(tmp_path / "plots")]
    assert main(["backtest", "--dir", str(month), *told]) == ExitCode.DONE
    out = capsys.readouterr().out
    assert "foreseen at the start" in out
    assert "as issued" in out
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["backtest-walltime.svg"]
    assert (kept.read_bytes() if kept.exists() else None) == before


def test_too_little_to_score_is_one_line_and_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "alpha"
    assert main(["init", str(folder), "--cluster", "alpha", "--timezone", "UTC"]) == ExitCode.DONE
    (tmp_path / "jobs").write_text(dump(job("900"), job("901")))
    assert main(["ingest", "--dir", str(folder), str(tmp_path / "jobs")]) == ExitCode.DONE
    capsys.readouterr()
    assert main(["backtest", "--dir", str(folder)]) == ExitCode.NO_REPORT
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert not (folder / "models" / "backtest.json").exists()


def test_an_unknown_target_is_usage(month: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["backtest", "--dir", str(month), "--target", "disk"])
    assert left.value.code == ExitCode.USAGE
    assert "disk" in capsys.readouterr().err
