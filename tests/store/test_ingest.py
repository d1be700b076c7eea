"""Ingest: once is as good as twice, in any order, killed at any moment, and every fault is one line."""

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
import zstandard

from audit.errors import AuditError
from audit.store import Options, ingest, manifest, open_current, open_store
from audit.workspace import find_workspace
from tests.dumps import FIELDS, dump, job, rows, step, take, utc, workspace

MANY = dump(*(r for i in range(1, 200) for r in (job(str(i)), step(str(i), MaxRSS=f"{i}K"))))


def figures(space: object) -> list[object]:
    return [rows(space, view) for view in ("job", "span", "step")]  # type: ignore[arg-type]


def test_twice_is_once_under_any_name(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, MANY)
    before = figures(space)
    assert [(r.known, r.attempts) for r in take(space, MANY)] == [(True, 0)]
    assert figures(space) == before
    assert len(list(manifest.files(space.evidence))) == 1


def test_the_store_is_rebuilt_from_evidence(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    columns = tuple(name.lower() for name in FIELDS)
    take(space, MANY)
    take(space, dump(job("900"), header=False), options=Options(columns=columns))
    before = figures(space)
    space.database.unlink()
    assert [r.error for r in ingest(space, [])] == ["", ""]
    assert figures(space) == before


def test_what_is_dropped_into_the_folder_is_taken(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    (space.evidence / "by-hand.txt").write_text(MANY)
    assert [r.attempts for r in ingest(space, [])] == [199]
    assert json.loads((space.evidence / "manifest.json").read_text())["files"][0]["name"] == "by-hand.txt"


def test_evidence_that_was_changed_is_refused(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, MANY)
    (stored,) = manifest.files(space.evidence)
    stored.write_text(MANY + "more\n")
    assert ["was changed" in r.error for r in ingest(space, [])] == [True]


def test_a_dump_taken_with_wrong_columns_is_read_anew_with_the_right_ones(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    columns = tuple(name.lower() for name in FIELDS)
    wrong = tuple({"user": "account", "account": "user"}.get(name, name) for name in columns)
    text = dump(job("900"), header=False)
    for named in (wrong, columns):
        take(space, text, options=Options(columns=named))
    assert rows(space, "job", "user_name", "account") == [{"user_name": "u1", "account": "a1"}]
    assert len(list(manifest.files(space.evidence))) == 1


def test_columns_that_are_not_what_they_are_called_are_refused(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    swapped = {"submit": "start", "start": "submit"}
    columns = tuple(swapped.get(name.lower(), name.lower()) for name in FIELDS)
    text = dump(*(job(str(i)) for i in range(1, 40)), header=False)
    (result,) = take(space, text, options=Options(columns=columns))
    assert "39 of 39 records" in result.error


def test_evidence_that_is_gone_is_named(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, MANY)
    (stored,) = manifest.files(space.evidence)
    stored.unlink()
    assert ["is gone" in r.error for r in ingest(space, [])] == [True]


@pytest.mark.parametrize("name", [".hidden", "manifest.json", "manifest.json.new", "a b\n'x'.txt", "dump.txt", "..."])
def test_whatever_a_file_is_called_it_is_kept_and_read_again(tmp_path: Path, name: str) -> None:
    space = workspace(tmp_path / "a")
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / name).write_text(dump(job("901")))
    assert [r.error for r in ingest(space, [str(tmp_path / "given" / name)])] == [""]
    space.database.unlink()
    assert [r.attempts for r in ingest(space, [])] == [1]


def test_a_file_that_fails_leaves_nothing_and_the_others_go_on(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    results = take(space, MANY, "no dump\n", dump(job("900")))
    assert [bool(r.error) for r in results] == [False, True, False]
    assert len(rows(space, "job")) == 200
    assert len(list(manifest.files(space.evidence))) == 2
    assert not list(space.evidence.glob(".*"))


@pytest.mark.parametrize("ending", ["gz", "xz", "zst"])
def test_compressed_dumps_and_the_same_cut_short(tmp_path: Path, ending: str) -> None:
    pack = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstandard.ZstdCompressor().compress}[ending]
    packed = pack(MANY.encode())
    space = workspace(tmp_path / "a")
    whole, cut, twice = take(space, packed, packed[: len(packed) * 2 // 3], packed + packed)
    assert [(r.attempts, r.steps, r.rejects) for r in (whole, twice)] == [(199, 199, 0), (398, 398, 0)]
    assert "cut short or damaged" in cut.error
    assert len(rows(space, "job")) == 199


def test_standard_input_and_folders(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    folder = tmp_path / "dumps" / "deep"
    folder.mkdir(parents=True)
    (folder / "one.txt").write_text(dump(job("901")))
    (folder.parent / "two.txt").write_text(dump(job("902")))
    command = [sys.executable, "-m", "audit", "ingest", "--dir", str(space.root), "-", str(folder.parent)]
    done = subprocess.run(command, input=MANY.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(rows(space, "job")) == 201


def test_a_killed_command_leaves_no_scratch_database_for_long(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    take(space, dump(job("1")))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = [tmp_path / f"audit.duckdb.scratch-{ended.pid}{ending}" for ending in ("", ".wal")]
    for path in left:
        path.touch()
    with open_store(space) as store:
        store.connection.execute("CREATE TABLE scratch.t AS SELECT 1")
        assert not any(path.exists() for path in left)
        assert list(tmp_path.glob("audit.duckdb.scratch-*"))
    assert not list(tmp_path.glob("audit.duckdb.scratch-*"))


def test_another_run_on_the_same_folder_is_one_line(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, MANY)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import duckdb, sys; c = duckdb.connect({str(space.database)!r}); print('held', flush=True); sys.stdin.read()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(AuditError, match=f"in use by process {holder.pid}"):
            list(ingest(space, []))
    finally:
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait(timeout=20)


def test_a_store_of_another_version_is_rebuilt_with_one_line(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, MANY)
    before = figures(space)
    with duckdb.connect(str(space.database)) as connection:
        connection.execute("UPDATE meta SET value = '0.0.1' WHERE key LIKE 'version%'")
    lines: list[str] = []
    with open_current(space, lines.append) as store:
        assert store.connection.execute("SELECT count(*) FROM job").fetchall() == [(199,)]
    assert len(lines) == 1
    assert figures(space) == before


def test_another_time_zone_in_audit_toml_rereads_the_evidence(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a", timezone="America/New_York")
    take(space, dump(job("900")))
    text = (space.root / "audit.toml").read_text()
    (space.root / "audit.toml").write_text(text.replace("America/New_York", "UTC"))
    lines: list[str] = []
    with open_current(find_workspace(space.root), lines.append) as store:
        assert store.connection.execute("SELECT start_time FROM job").fetchall() == [(utc("2026-05-05T08:00:00"),)]
    assert [("time zone" in line) for line in lines] == [True]


def test_a_step_whose_attempt_is_in_no_file_is_named(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, dump(job("900"), step("901")))
    assert [r["text"] for r in rows(space, "reject", "text")] == ["901.batch"]
    take(space, dump(job("901")))
    assert rows(space, "reject") == []


def test_a_running_attempt_held_what_it_held_up_to_the_dump(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(
        space,
        dump(
            job("900", State="RUNNING", End="Unknown", ElapsedRaw="600"),
            job("901", State="RUNNING", End="Unknown", ElapsedRaw=""),
        ),
    )
    assert rows(space, "span", "to_time") == [{"to_time": utc("2026-05-05T08:10:00")}, {"to_time": None}]


@pytest.mark.parametrize("length", [0, 4096, 20000])
def test_a_store_that_is_no_database_is_rebuilt(tmp_path: Path, length: int) -> None:
    space = workspace(tmp_path / "a")
    take(space, MANY)
    before = figures(space)
    space.database.write_bytes(space.database.read_bytes()[:length] or b"\x00" * 5000)
    assert [r.error for r in ingest(space, [])] == [""]
    assert figures(space) == before


def test_evidence_that_changed_is_named_before_anything_is_shown(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, MANY)
    (stored,) = manifest.files(space.evidence)
    for spoil in (lambda: stored.write_text("x"), stored.unlink):
        spoil()
        with pytest.raises(AuditError, match="since it was taken"), open_current(space, print):
            pass


def test_nothing_ingested_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="audit ingest"), open_store(workspace(tmp_path / "a")):
        pass


@pytest.mark.parametrize("after_s", [0.05, 0.3, 0.6, 0.8, 1.0, 1.2, 1.5])
def test_killed_at_any_moment_a_rerun_gives_the_same(tmp_path: Path, after_s: float) -> None:
    big = tmp_path / "big.txt"
    big.write_text(dump(*(r for i in range(1, 20_000) for r in (job(str(i)), step(str(i), MaxRSS=f"{i}K")))))
    small = tmp_path / "small.txt"
    small.write_text(dump(job("99999")))
    space = workspace(tmp_path / "a")
    command = [sys.executable, "-m", "audit", "ingest", "--dir", str(space.root), str(small), str(big)]
    victim = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after_s)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [len(rows(space, view)) for view in ("job", "step")] == [20_000, 19_999]
    assert len(list(manifest.files(space.evidence))) == 2
    assert not list(space.evidence.glob(".*"))


def test_an_interrupt_is_one_line_and_half_takes_nothing(tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    big.write_text(dump(*(job(str(i)) for i in range(1, 200_000))))
    for turn in range(5):  # a busy machine may see it only once it is done
        space = workspace(tmp_path / f"turn{turn}")
        command = [sys.executable, "-m", "audit", "ingest", "--dir", str(space.root), str(big)]
        victim = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not list(space.evidence.glob(".incoming*")) and victim.poll() is None:
            time.sleep(0.01)
        victim.send_signal(signal.SIGINT)
        _, said = victim.communicate(timeout=60)
        if not (space.evidence / big.name).exists():
            break
    assert (victim.returncode, said.count("\n")) == (130, 1)
    assert not list(space.evidence.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system to fill needs root to mount")
def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], check=False, capture_output=True
    ).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        space = workspace(disk / "a")
        first = tmp_path / "first.txt"
        first.write_text(dump(job("1")))
        big = tmp_path / "big.txt"
        big.write_text(dump(*(job(str(i), JobName=f"{i * 7919}" * 9) for i in range(1, 60_000))))
        command = [sys.executable, "-m", "audit", "ingest", "--dir", str(space.root)]
        assert subprocess.run([*command, str(first)], capture_output=True, check=False).returncode == 0
        done = subprocess.run([*command, str(big)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "disk is full" in done.stderr
        assert done.stderr.count("\n") == 1
        assert not list(space.evidence.glob(".*"))
        assert len(rows(space, "job")) == 1
    finally:
        subprocess.run(["umount", str(disk)], check=False)
