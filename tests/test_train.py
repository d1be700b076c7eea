"""`audit train` from a generated month to models that `audit estimate` answers from."""

import json
from pathlib import Path

import pytest

from audit.cli import main
from audit.errors import ExitCode


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
