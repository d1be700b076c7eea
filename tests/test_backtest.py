"""`audit backtest` as a person or a program meets it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

import audit.sizing.backtest
from audit import cli
from audit.accounting.back_test import back_test
from audit.cli import main
from audit.errors import AuditError, ExitCode
from audit.sizing.attempts import TARGETS
from audit.workspace import find_workspace
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


def test_plots_that_cannot_be_written_are_one_line(
    month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plots"
    out.touch()
    capsys.readouterr()
    assert main(["backtest", "--dir", str(month), "--target", "memory", "--out", str(out)]) == ExitCode.FAILED
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert str(out) in said.err


def test_a_file_that_cannot_be_used_is_one_line_that_names_it(
    month: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "month"
    shutil.copytree(month, other, ignore=shutil.ignore_patterns("models"))
    (other / "models").touch()
    capsys.readouterr()
    assert main(["backtest", "--dir", str(other)]) == ExitCode.FAILED
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert str(other / "models") in said.err


Spoil = Callable[[dict[str, Any]], object]
SPOILED: dict[str, Spoil] = {
    "no targets": lambda found: found.update(targets=None),
    "a target that is text": lambda found: found["targets"].append("memory"),
    "text for a count": lambda found: found["targets"][0].update(scored="many"),
    "truth for a count": lambda found: found["targets"][0].update(bursts=True),
    "less than none": lambda found: found["targets"][0].update(bursts=-1),
    "no level": lambda found: found["targets"][0]["coverage"][0].pop("level"),
    "a share beyond all numbers": lambda found: found["targets"][0]["coverage"][0].update(realised=float("inf")),
    "a whole number beyond all": lambda found: found["targets"][0]["coverage"][0].update(realised=10**400),
    "a list for an object": lambda found: found["targets"][0].update(per_user=[]),
    "a user that is a number": lambda found: found["targets"][0]["per_user"].update(listed=[{"user": 7}]),
    "no rival": lambda found: found["targets"][0].update(equal_kills=[{"kill_share": 0.1, "best_fixed": None}]),
    "another schema": lambda found: found.update(schema="audit-backtest/0"),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED.keys())
def test_what_a_report_could_not_read_is_one_line(month: Path, tmp_path: Path, spoil: Spoil) -> None:
    folder = tmp_path / "alpha"
    assert main(["init", str(folder), "--cluster", "alpha", "--timezone", "UTC"]) == ExitCode.DONE
    if not (month / "models" / "backtest.json").exists():
        assert main(["backtest", "--dir", str(month)]) == ExitCode.DONE
    found = json.loads((month / "models" / "backtest.json").read_text())
    (folder / "models").mkdir()
    path = folder / "models" / "backtest.json"
    path.write_text(json.dumps(found))
    assert back_test(find_workspace(folder)) == found
    spoil(found)
    path.write_text(json.dumps(found))
    with pytest.raises(AuditError, match=r"backtest\.json: is no back-test of this version; run `audit train` again"):
        back_test(find_workspace(folder))
