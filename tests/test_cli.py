"""The command line as a person or a program meets it: one line for each fault, exit codes, JSON, hostile names."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from audit.cli import main
from audit.errors import ExitCode
from tests.dumps import FIELDS, dump, job, step

NODES = "NodeName=n1 CPUTot=8 RealMemory=16384 Gres=(null) ThreadsPerCore=1 Partitions=batch\n"
JOBS = dump(
    job("900"),
    step("900", MaxRSS="4194304K", TotalCPU="02:00:00"),
    job("901", Start="2026-05-05T12:00:00", End="2026-05-05T20:00:00", ElapsedRaw="28800"),
)


@pytest.fixture
def alpha(tmp_path: Path) -> Path:
    assert main(["init", str(tmp_path / "alpha"), "--cluster", "alpha", "--timezone", "UTC"]) == ExitCode.DONE
    return tmp_path / "alpha"


def given(folder: Path, **texts: str | bytes) -> list[str]:
    paths = []
    for name, text in texts.items():
        path = folder.parent / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths.append(str(path))
    return paths


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(arguments)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_from_a_dump_to_a_report(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "ingest", "--dir", str(alpha), *given(alpha, jobs=JOBS, nodes=NODES))[0] == ExitCode.DONE
    code, out, err = run(capsys, "report", "--dir", str(alpha), "--json")
    report = json.loads(out)
    assert code == ExitCode.DONE
    assert report == json.loads((alpha / "out" / "report.json").read_text())
    assert report["hours"]["held"] == {"core": 36, "gpu": 0, "mem_gib": 72}  # 9 hours of 4 cores and 8 GiB
    assert report["hours"]["installed"]["core"] == 96  # 8 cores over the 12 hours from first start to last end
    assert report["reasons"]["hours.down"]
    assert (alpha / "out" / "report.pdf").read_bytes().startswith(b"%PDF")
    assert err.count("\n") == 1  # most of it was not measured: the headline is withheld, and one line says so
    assert "no headline" in err


@pytest.mark.parametrize(
    ("files", "code", "says"),
    [
        ({"a": ""}, ExitCode.FAILED, "is empty"),
        ({"a": b"\x7fELF\x00\x01"}, ExitCode.FAILED, "is binary"),
        ({"a": "a,b,c\n1,2,3\n"}, ExitCode.FAILED, "no header"),
        (
            {"a": "JobID|State\n1|COMPLETED\n"},
            ExitCode.FAILED,
            "columns missing: Submit, Start, End, AllocTRES; make the dump with: ",
        ),
        ({"a": b"\x1f\x8b\x08\x00"}, ExitCode.FAILED, "cut short or damaged"),
        ({"a": '{"jobs": ['}, ExitCode.FAILED, "no JSON"),
        ({"a": JOBS, "b": ""}, ExitCode.PARTLY_DONE, "is empty"),
    ],
)
def test_a_file_that_is_no_evidence(
    alpha: Path, capsys: pytest.CaptureFixture[str], files: dict[str, Any], code: ExitCode, says: str
) -> None:
    found, _, err = run(capsys, "ingest", "--dir", str(alpha), *given(alpha, **files))
    assert found == code
    assert says in err
    assert err.count("\n") == 1


def test_a_dump_of_another_cluster_is_named(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "ingest", "--dir", str(alpha), *given(alpha, a=dump(job("900", Cluster="beta"))))
    assert code == ExitCode.DONE
    assert "only of beta" in err


def test_a_header_alone_is_done(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "ingest", "--dir", str(alpha), *given(alpha, a=dump()))[0] == ExitCode.DONE


def test_a_file_that_is_not_there_and_one_that_may_not_be_read(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (locked,) = given(alpha, locked=JOBS)
    Path(locked).chmod(0)
    code, _, err = run(
        capsys, "ingest", "--dir", str(alpha), str(alpha / "gone"), *([] if os.geteuid() == 0 else [locked])
    )
    assert code == ExitCode.FAILED
    assert all("cannot be read" in line for line in err.splitlines())


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["init", "{}/b", "--cluster", "b", "--timezone", "Mars/Base"], ExitCode.USAGE, "no time zone"),
        (["init", "{}", "--cluster", "b", "--timezone", "UTC"], ExitCode.USAGE, "is there already"),
        (
            ["init", "{}/b", "--cluster", "b", "--timezone", "UTC", "--from", "soon"],
            ExitCode.USAGE,
            "window.from expects a date",
        ),
        (["report", "--dir", "{}/.."], ExitCode.USAGE, "no audit.toml here"),
        (["report", "--dir", "{}"], ExitCode.FAILED, "nothing was ingested yet"),
        (["demo", "{}"], ExitCode.USAGE, "is there already"),
        (["ingest", "--dir", "{}", "--delimiter", r"\x"], ExitCode.USAGE, "--delimiter"),
        (["init", "{}/b", "--cluster", "b", "--timezone", "localtime"], ExitCode.USAGE, "no time zone"),
        (["compare", "{}", "{}/.."], ExitCode.USAGE, "no audit.toml here"),
        (["compare", "{}", "nowhere"], ExitCode.USAGE, "no window"),
        (["compare", "{0}", "{0}"], ExitCode.FAILED, "nothing was ingested yet"),
    ],
)
def test_faults_are_one_line(
    alpha: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: ExitCode, says: str
) -> None:
    found, _, err = run(capsys, *(a.format(alpha) for a in arguments))
    assert found == code
    assert says in err
    assert err.count("\n") == 1


def test_no_job_in_the_window_is_no_report(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "ingest", "--dir", str(alpha), *given(alpha, jobs=JOBS, nodes=NODES))
    text = (alpha / "audit.toml").read_text()
    (alpha / "audit.toml").write_text(
        text.replace("# from = 2026-05-01", "from = 2030-01-01").replace("# to = 2026-05-15", "to = 2030-01-02")
    )
    code, _, err = run(capsys, "report", "--dir", str(alpha))
    assert code == ExitCode.NO_REPORT
    assert "2026-05-05" in err  # what the evidence does span
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [[], ["--help"], ["ingest", "--help"], ["nonsense"], ["demo", "x", "--jobs", "0"], ["report", "--format", "docx"]],
)
def test_usage(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "audit", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == (ExitCode.DONE if "--help" in arguments else ExitCode.USAGE)
    assert "Traceback" not in done.stderr


def test_help_shows_the_commands_to_run_at_a_site() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "audit", "ingest", "--help"], capture_output=True, text=True, check=True
    )
    assert "sacct -a -D -P --delimiter=$'\\x1f'" in done.stdout
    assert "SLURM_TIME_FORMAT=%s" in done.stdout
    assert "sacctmgr show event -P" in done.stdout
    assert not {"SubmitLine", "WorkDir", "Comment,"} & set(done.stdout.replace("AdminComment,", "").split(","))


def test_help_is_light() -> None:
    code = "import sys; from audit.cli import main\ntry: main(['--help'])\nexcept SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"duckdb", "polars", "numpy", "weasyprint", "jinja2"} & set(done.stdout.split())


HOSTILE = [
    "'; DROP TABLE job_record; --",
    '"quotes" and \\backslashes\\',
    "<img src=file:///etc/passwd>",
    "<script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "$(touch /tmp/owned) `id`",
    "\u202egnp.exe \u2066\x1b[31m\x07",
    "n" * 10_000,
    "=cmd|' /C calc'!A0",
]


@pytest.mark.parametrize("field", ["JobName", "User", "Account", "Partition", "NodeList"])
def test_hostile_names_change_nothing_but_how_they_are_printed(
    alpha: Path, capsys: pytest.CaptureFixture[str], field: str
) -> None:
    names = [n for n in HOSTILE if field != "NodeList" or not set(n) & set(" ,[]")]
    delimiter = "\x1f"

    def attempts(values: list[str]) -> str:
        return dump(*(job(str(i), **{field: value}) for i, value in enumerate(values, 1)), delimiter=delimiter)

    figures = []
    for folder, values in (("plain", [f"n{i}" for i in range(len(names))]), ("hostile", names)):
        space = alpha.parent / folder
        main(["init", str(space), "--cluster", "alpha", "--timezone", "UTC"])
        assert run(capsys, "ingest", "--dir", str(space), *given(space, jobs=attempts(values)))[0] == ExitCode.DONE
        code, out, _ = run(capsys, "report", "--dir", str(space), "--json")
        assert code == ExitCode.DONE
        report = json.loads(out)
        figures.append([report["hours"], report["attempts"], report["cost"]["held_usd"], report["rejects"]])
        listed = json.loads(run(capsys, "show", "job", "--dir", str(space), "--json", "--limit", "0")[1])
        column = {"JobName": "job_name", "User": "user_name", "NodeList": "node_list"}.get(field, field.lower())
        assert sorted(row[column] for row in listed) == sorted(values)
        shown = run(capsys, "show", "job", "--dir", str(space))[1]
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert figures[0] == figures[1]


def test_every_table_has_json(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from audit.cli import TABLES

    run(capsys, "ingest", "--dir", str(alpha), *given(alpha, jobs=JOBS, nodes=NODES))
    for table in TABLES:
        code, out, _ = run(capsys, "show", table, "--dir", str(alpha), "--json", "--limit", "0")
        assert code == ExitCode.DONE, table
        assert isinstance(json.loads(out), list)
    assert (
        json.loads(run(capsys, "show", "job", "--dir", str(alpha), "--json")[1])[0]["submit"] == "2026-05-05T07:00:00Z"
    )


def test_a_dump_without_header(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = given(alpha, jobs=dump(job("900"), header=False, delimiter=";"))
    code, out, _ = run(capsys, "ingest", "--dir", str(alpha), "--columns", ",".join(FIELDS), "--json", *files)
    assert (code, json.loads(out)[0]["attempts"]) == (ExitCode.DONE, 1)


def told(capsys: pytest.CaptureFixture[str], folder: Path) -> Path:
    """The folder with a report's evidence: user alice in the account, the job's name and the dump's file name."""
    jobs = dump(
        job("900", User="alice", Account="alice_lab", JobName="/home/alice/run7.sh"),
        step("900", MaxRSS="4194304K", TotalCPU="02:00:00"),
        job("901", User="bob", JobName="bob"),
    )
    assert run(capsys, "ingest", "--dir", str(folder), *given(folder, **{"alice.txt": jobs, "nodes": NODES}))[0] == 0
    return folder


def test_only_the_formats_asked_for_are_touched(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, alpha)
    assert run(capsys, "report", "--dir", str(alpha), "--format", "json")[0] == ExitCode.DONE
    assert [path.name for path in (alpha / "out").iterdir()] == ["report.json"]
    assert run(capsys, "report", "--dir", str(alpha), "--format", "csv,html")[0] == ExitCode.DONE
    tables = {"cost.csv", "families.csv", "users.csv", "accounts.csv", "partitions.csv", "lost.csv"}
    assert {path.name for path in (alpha / "out").iterdir()} == {"report.json", "report.html", *tables}


def test_formats_without_pages_need_no_renderer(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, alpha)
    code = "import sys; from audit.cli import main; code = main(sys.argv[1:]); print(*sys.modules); sys.exit(code)"
    command = [sys.executable, "-c", code, "report", "--dir", str(alpha), "--format", "json,csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not {"weasyprint", "jinja2", "matplotlib"} & set(done.stdout.splitlines()[-1].split())


def test_no_output_names_a_user(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, alpha)
    code, out, err = run(capsys, "report", "--dir", str(alpha), "--json", "--format", "html,json,csv")
    assert code == ExitCode.DONE
    written = [path.read_text().lower() for path in (alpha / "out").iterdir()]
    assert [text for text in (*written, out, err) if "alice" in text] == []
    report = json.loads(out)
    assert report["real_names"] is False
    again = json.loads(run(capsys, "report", "--dir", str(alpha), "--json", "--format", "json")[1])
    assert {row["user"] for row in report["users"]} == {row["user"] for row in again["users"]}


def test_real_names_are_explicit_and_said(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, alpha)
    plain = run(capsys, "report", "--dir", str(alpha), "--json", "--format", "json")[2]
    (alpha / "pseudonyms.key").unlink()
    _, out, err = run(capsys, "report", "--dir", str(alpha), "--json", "--format", "json", "--real-names")
    report = json.loads(out)
    assert report["real_names"] is True
    assert {row["user"] for row in report["users"]} == {"alice", "bob"}
    assert report["evidence"][0]["name"] == "alice.txt"
    assert err.count("\n") == plain.count("\n") + 1
    assert not (alpha / "pseudonyms.key").exists()


def test_a_key_that_others_can_read_stops_the_report(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, alpha)
    (alpha / "pseudonyms.key").write_bytes(b"k" * 32)
    (alpha / "pseudonyms.key").chmod(0o644)
    code, _, err = run(capsys, "report", "--dir", str(alpha), "--format", "json")
    assert code == ExitCode.FAILED
    assert "chmod 600" in err
    assert err.count("\n") == 1
    assert not (alpha / "out").exists()


@pytest.mark.parametrize(
    ("windows", "code", "lines"),
    [
        (("2026-05-05T07:00..2026-05-05T09:00", "2026-05-05T09:00..2026-05-05T20:00"), ExitCode.DONE, 1),
        (("2026-05-05T07:00..2026-05-05T09:00", "2026-05-05T08:30..2026-05-05T20:00"), ExitCode.DONE, 2),
        (("2026-05-05..2026-05-06", "2026-05-06..banana"), ExitCode.USAGE, 1),
        (("2026-05-05..2026-05-06", "2030-01-01..2030-01-02"), ExitCode.NO_REPORT, 1),
    ],
    ids=["adjacent", "overlapping", "no window", "no job"],
)
def test_two_windows_side_by_side(
    alpha: Path, capsys: pytest.CaptureFixture[str], windows: tuple[str, str], code: ExitCode, lines: int
) -> None:
    run(capsys, "ingest", "--dir", str(alpha), *given(alpha, jobs=JOBS, nodes=NODES))
    found, out, err = run(capsys, "compare", *windows, "--dir", str(alpha), "--json")
    assert found == code
    assert err.count("\n") == lines  # what bends it: B's headline is withheld, an overlap
    if code == ExitCode.DONE:
        cores = next(row for row in json.loads(out)["figures"] if row["figure"] == "hours.held.core")
        assert cores["a"] == 2  # one job of 4 cores in the second of two hours
    else:
        assert out == ""


def test_two_engagements_side_by_side(alpha: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, alpha)
    beta = alpha.parent / "beta"
    main(["init", str(beta), "--cluster", "beta", "--timezone", "UTC"])
    jobs = dump(job("1", Cluster="beta"), step("1", Cluster="beta", MaxRSS="4194304K", TotalCPU="02:00:00"))
    run(capsys, "ingest", "--dir", str(beta), *given(beta, jobs=jobs, nodes=NODES))
    code, out, err = run(capsys, "compare", str(alpha), str(beta))
    assert code == ExitCode.DONE
    assert "cluster alpha" in out.splitlines()[0]
    assert "cluster beta" in out.splitlines()[1]
    assert "A is of cluster alpha, B of cluster beta" in err
    assert run(capsys, "compare", str(alpha), str(alpha.parent))[0] == ExitCode.USAGE
