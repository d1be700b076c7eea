"""`audit recommend` as a person or a program meets it."""

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from jsonschema import Draft202012Validator

import audit.reporting.recommend
from audit.cli import main
from audit.errors import ExitCode
from tests.dumps import dump, job, step

SCHEMA = json.loads(Path(audit.reporting.recommend.__file__).with_name("recommend.schema.json").read_text())
NODES = "NodeName=n1 CPUTot=8 RealMemory=16384 Gres=(null) ThreadsPerCore=1 Partitions=batch\n"
HELD = {"AllocCPUS": "1", "AllocTRES": "billing=1,cpu=1,mem=12G,node=1", "User": "annika", "JobName": "annika-9"}
GIB = 2**30


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    """An engagement of one attempt that held 12 of a node's 16 GiB and used one."""
    folder = tmp_path / "alpha"
    assert main(["init", str(folder), "--cluster", "alpha", "--timezone", "UTC"]) == ExitCode.DONE
    (tmp_path / "jobs").write_text(dump(job("900", **HELD), step("900", MaxRSS="1048576K", TotalCPU="00:30:00")))
    (tmp_path / "nodes").write_text(NODES)
    assert main(["ingest", "--dir", str(folder), str(tmp_path / "jobs"), str(tmp_path / "nodes")]) == ExitCode.DONE
    return folder


def advise(folder: Path, gib: int) -> None:
    """What `audit train` would have written."""
    path = folder / "models" / "replay.parquet"
    path.parent.mkdir(exist_ok=True)
    rows = "SELECT 'alpha' AS cluster, '900' AS job_id_raw, TIMESTAMP '2026-05-05 07:00:00' AS submit, quantile, 0.0 AS gpus"
    rows += ", NULL::DOUBLE AS cores, $bytes::DOUBLE AS mem_bytes, false AS abstained"
    made = f"COPY ({rows} FROM (VALUES (0.9), (0.95), (0.99), (0.995)) AS level(quantile)) TO $path (FORMAT parquet)"
    duckdb.connect().execute(made, {"path": str(path), "bytes": gib * GIB})


def run(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["recommend", "--dir", str(folder), *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_from_a_replay_to_table_json_csv_and_page(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advise(alpha, 2)
    code, out, _ = run(capsys, alpha)
    assert code == ExitCode.DONE
    assert "12 → 2 GiB" in out
    written = sorted(path.name for path in (alpha / "out").iterdir())
    assert written == ["recommend.csv", "recommend.html"]
    texts = [out, *((alpha / "out" / name).read_text() for name in written)]
    code, out, _ = run(capsys, alpha, "--json")
    found = json.loads(out)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(found)] == []
    (row,) = found["lower"]
    assert (row["mem_asked_bytes"], row["mem_recommended_bytes"]) == (12 * GIB, 2 * GIB)
    assert [text for text in (*texts, out) if "annika" in text] == []


def test_the_next_run_tells_what_was_adopted(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advise(alpha, 2)
    assert json.loads(run(capsys, alpha, "--json")[1])["earlier"] is None
    advise(alpha, 4)
    found = json.loads(run(capsys, alpha, "--json")[1])
    assert found["lower"][0]["change"]["recommendation_changed"] == ["memory"]
    assert found["earlier"]


def test_another_folder_for_the_files(alpha: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advise(alpha, 2)
    assert run(capsys, alpha, "--out", str(tmp_path / "there"))[0] == ExitCode.DONE
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["recommend.csv", "recommend.html"]
    assert not (alpha / "out").exists()


def test_real_names_are_explicit_and_said(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    advise(alpha, 2)
    _, out, err = run(capsys, alpha, "--json", "--real-names", "--by", "user")
    assert json.loads(out)["lower"][0]["user"] == "annika"
    assert "--real-names" in err


def test_without_a_model_one_line_and_exit_3(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, alpha)
    assert (code, out, err.count("\n")) == (ExitCode.NO_REPORT, "", 1)
    assert "no model has been replayed over the window: run `audit train`" in err
    assert not (alpha / "out").exists()
    assert not (alpha / "models").exists()


@pytest.mark.parametrize("arguments", [["--limit", "-1"], ["--by", "partition"]])
def test_usage(alpha: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["recommend", "--dir", str(alpha), *arguments])
    assert left.value.code == ExitCode.USAGE


def test_the_table_needs_no_pdf_renderer(alpha: Path) -> None:
    advise(alpha, 2)
    code = "import sys; from audit.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "recommend", "--dir", str(alpha)], capture_output=True, text=True, check=True
    )
    assert "weasyprint" not in done.stdout.splitlines()[-1].split()
