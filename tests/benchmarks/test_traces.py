"""Logs of jobs from elsewhere are read generously, and what holds nothing to score says so in one line."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.sizing.attempts import MIB, Problem
from benchmarks.accuracy import main
from benchmarks.accuracy_limits import limits
from benchmarks.trace import Trace, UnusableError
from benchmarks.trace_columns import durations, moments, sizes
from benchmarks.traces import read
from benchmarks.traces_swf import read_swf
from benchmarks.traces_tasks import read_tasks

SWF = """\
; Version: 2.2
; UnixStartTime: 1000000000
;
  1    0 100   50  4 -1 -1  8  60 -1 1 7 1 3 1 2 -1 -1
  2   10  -1   60  4 -1 -1 -1  60 -1 1 8 1 3 1 2 -1 -1 an odd tail
  3   20   5   -1  4 -1 -1  4  60 -1 5 7 1 3 1 2 -1 -1
  4   30   5   10  4 -1 -1  4  -1 -1 1 7 1 3 1 2 -1 -1
  4   30   5    4  4 -1 -1  4  60 -1 2 7 1 3 1 2 -1 -1
this line is none
  5   40   5 oops  4 -1 -1  4  60 -1 1 7 1 3 1 2 -1 -1
"""
TASKS = """\
process,status,exit,submit,start,complete,realtime,peakRss,memory,cpus,_pipeline
A:FASTQC (s1),COMPLETED,0,2025-01-01T00:00:00Z,2025-01-01T00:01:00Z,2025-01-01T00:02:00Z,55000,1073741824,4294967296,2,rna
A:FASTQC (s2),FAILED,137,2025-01-01T00:00:00Z,2025-01-01T00:01:00Z,2025-01-01T00:02:00Z,50000,2 GB,4 GB,2,rna
B:ALIGN,FAILED,1,2025-01-01T00:03:00Z,2025-01-01T00:03:00Z,2025-01-01T00:04:00Z,60000,1 GB,4 GB,2,rna
B:ALIGN,CACHED,0,2025-01-01T00:03:00Z,-,-,-,1 GB,4 GB,2,rna
B:ALIGN,COMPLETED,0,2025-01-01T00:05:00Z,2025-01-01T00:05:00Z,2025-01-01T00:06:00Z,60000,-,nan,2,rna
"""
ODD = st.sampled_from((*" ,;|\t\n\0", "-", "nan", "inf", "1e400", "-5", '"', "9999-12-31 23:59:59"))
PEAKS = """\
instance\tprogram\tpeak_mem_bytes\truntime_s
b/2\tsort_01\t500\t10
a/1\tsort_02\t2097152\t20
b/2\tsort_03\t-1\t5
"""


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def only(trace: Trace, target: str, mode: str = "submit") -> Problem:
    problems = trace.problems(mode)
    assert set(problems) == {target}
    return problems[target]


@pytest.mark.parametrize("packed", [False, True])
def test_a_batch_log(tmp_path: Path, packed: bool) -> None:
    """Of its seven records one has no run time, one is a part of another job, and two are broken."""
    text = gzip.compress(SWF.encode()) if packed else SWF
    trace = read(written(tmp_path, "log.swf.gz" if packed else "log.txt", text))
    assert trace.rows == {"jobs": 3, "malformed": 2, "without_run_time": 2}
    made = only(trace, "walltime")
    assert made.need.tolist() == [50, 60, 10]
    np.testing.assert_array_equal(made.asked, [60, 60, np.nan])
    assert made.is_bound.tolist() == [False, True, False]  # the second was cut at its limit
    assert made.attempts.submit_s.tolist() == [1e9, 1e9 + 10, 1e9 + 30]
    assert made.attempts.end_s.tolist() == [1e9 + 150, 1e9 + 70, 1e9 + 45]  # an unknown wait is none
    assert made.attempts.cores.tolist() == [8, 4, 4]  # asked for; else held
    assert [trace.users[code] for code in made.attempts.user] == ["7", "8", "7"]
    assert only(trace, "walltime", "start").rows.tolist() == [1, 2, 0]


def test_requested_times_that_a_model_made_are_not_taken(tmp_path: Path) -> None:
    trace = read(written(tmp_path, "grid.swf", SWF.replace("; Version", "; Installation: LCG grid\n; Version")))
    assert np.isnan(only(trace, "walltime").asked).all()
    assert "requests" in trace.notes


def test_a_table_of_tasks(tmp_path: Path) -> None:
    """Only what ran counts; a failure tells nothing of the need, but one by lack of memory that it was more."""
    trace = read(written(tmp_path, "tasks.csv", TASKS))
    made = only(trace, "memory")
    assert trace.rows["kept"] == 4
    np.testing.assert_array_equal(made.need, [2.0**30, 2.0**32, np.nan, np.nan])
    assert made.is_bound.tolist() == [False, True, False, False]
    np.testing.assert_array_equal(made.asked, [2.0**32, 2.0**32, 2.0**32, np.nan])
    assert made.attempts.run_s.tolist() == [55, 50, 60, 60]  # milliseconds
    assert (made.attempts.end_s - made.attempts.submit_s).tolist() == [120, 120, 60, 60]
    assert made.attempts.name.tolist() == [0, 0, 1, 1]  # without the sample's tag
    assert trace.users == ("rna",)


def test_columns_in_another_order_under_other_names(tmp_path: Path) -> None:
    text = "task_id\tPeak RSS (MB)\tname\tsubmit\trealtime\n1\t3\tX (1)\t2025-01-01 00:00:00.500\t1m 30s\n"
    made = only(read(written(tmp_path, "trace.txt", text)), "memory")
    assert made.need.tolist() == [3 * MIB]
    assert made.attempts.run_s.tolist() == [90]
    assert made.attempts.end_s - made.attempts.submit_s == [90]
    assert np.isnan(made.asked).all()


@pytest.mark.parametrize(
    "rows",
    [
        "x,5,2025-01-01T00:00:00Z\ny,6,2025-01-01T00:00:00Z,7\n",  # the first lacks a field
        "x,5,2025-01-01T00:00:00Z,7,more,and more\ny,6,2025-01-01T00:00:00Z,7\n",
        'x "q" y,5,2025-01-01T00:00:00Z,7\n"y,6,2025-01-01T00:00:00Z,7\n',  # a quote that is never closed
        "x,5,2025-01-01T00:00:00Z,7\r\ny,6,2025-01-01T00:00:00Z,7\r\n",
    ],
)
def test_rows_of_any_length(tmp_path: Path, rows: str) -> None:
    made = only(read(written(tmp_path, "tasks.csv", "process,peakRss,submit,realtime\n" + rows)), "memory")
    assert 6 in made.need


def test_peaks_without_times_are_put_one_after_another(tmp_path: Path) -> None:
    trace = read(written(tmp_path, "peaks.tsv", PEAKS))
    made = only(trace, "memory")
    assert "made up" in trace.notes["times"]
    np.testing.assert_array_equal(made.need, [500, np.nan, 2 * MIB])  # instance b first, as in the file
    assert np.diff(made.attempts.submit_s).tolist() == [10, 5]
    assert len(set(made.attempts.name)) == 1  # numbers in a name say nothing
    assert len(set(made.attempts.user)) == 2


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("none.swf", "", "empty"),
        ("spaces.csv", " \n\n", "empty"),
        ("comments.swf", "; Version: 2.2\n", "no job"),
        ("unknown.swf", "1 0 -1 -1 4 -1 -1 4 -1 -1 5 7 1 3 1 2 -1 -1\n", "no job"),
        ("letters.csv", "only words\n", "neither"),
        ("other.csv", "a,b,c\n1,2,3\n", "peak memory"),
        ("header.csv", "process,peakRss,submit\n", "no row"),
        ("zeros.csv", "process,peakRss,submit,realtime\nx,0,2025-01-01T00:00:00Z,5\n", "above 0"),
        ("timeless.csv", "process,peakRss\nx,5\n", "times"),
        ("torn.swf.gz", b"\x1f\x8b\x08\x00torn", "cannot be read"),
        ("bytes.csv", bytes(range(256)), "bytes.csv: "),
    ],
)
def test_what_holds_nothing_to_score_is_one_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, data: str | bytes, why: str
) -> None:
    path = written(tmp_path, name, data)
    with pytest.raises(UnusableError, match=why):
        read(path)
    assert main([str(path)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert path.name in said.err


@given(
    st.sampled_from((SWF, TASKS, PEAKS)), st.lists(st.tuples(st.integers(0, 900), st.integers(0, 9), ODD), max_size=9)
)
def test_whatever_is_done_to_a_file_it_is_read_or_refused(text: str, edits: list[tuple[int, int, str]]) -> None:
    for at, length, odd in edits:
        text = text[:at] + odd + text[at + length :]
    for reader in (read_swf, read_tasks):
        try:
            trace = reader("odd", text)
        except UnusableError:
            continue
        for made in trace.problems("submit").values():
            found = made.attempts
            assert (found.submit_s <= found.start_s).all()
            assert (found.start_s <= found.end_s).all()


@pytest.mark.parametrize("path", ["nowhere.swf", "."])
def test_no_file_and_no_engagement_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    assert main([str(tmp_path / path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1.5 GB", "", 1.5 * 2**30),
        ("3MiB", "", 3 * 2**20),
        ("7k", "", 7 * 1024),
        ("12", "", 12),
        ("12", "mb", 12 * 2**20),
        ("1e3", "", 1000),
        ("-", "", np.nan),
        ("12 parsecs", "", np.nan),
        (None, "", np.nan),
    ],
)
def test_sizes(text: str | None, unit: str, expected: float) -> None:
    import polars as pl

    np.testing.assert_array_equal(sizes(pl.Series([text], dtype=pl.String), unit), [expected])


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1h 2m 3.5s", "", 3723.5),
        ("120ms", "", 0.12),
        ("1d 2h", "", 93_600),
        ("01:02:03", "", 3723),
        ("1-02:03:04", "", 93_784),
        ("5:30", "", 330),
        ("12", "", 12),
        ("12", "ms", 0.012),
        ("soon", "", np.nan),
    ],
)
def test_durations(text: str, unit: str, expected: float) -> None:
    import polars as pl

    assert durations(pl.Series([text]), unit)[0] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-09-18T13:01:21Z", 1758200481),
        ("2025-09-18 13:01:21.250", 1758200481.25),
        ("2025-09-18T13:01:21+02:00", 1758193281),
        ("2025-09-18 13:01:21 -0130", 1758205881),
        ("2025-09-18T13:01", 1758200460),
        ("1758200481", 1758200481),
        ("1758200481000", 1758200481),
        ("2025-99-18 13:01:21", np.nan),
        ("-", np.nan),
    ],
)
def test_moments(text: str, expected: float) -> None:
    import polars as pl

    assert moments(pl.Series([text]))[0] == pytest.approx(expected, nan_ok=True)


def scores(error: float | None = 0.012, waste: float | None = 0.9, *, kills: bool = True) -> dict[str, object]:
    return {
        "coverage": [{"level": 0.5, "error": 0.4}, {"level": 0.9, "error": error}],
        "abstained": {"share_after_1000": 0.1},
        "kills": kills,
        "equal_kills": [{"kill_share": 0.01, "best_fixed": "p95", "model_to_fixed": waste}],
    }


@pytest.mark.parametrize(
    ("file", "found", "within"),
    [
        ("other.swf", scores(), [True, True, True]),
        ("kth_sp2_1996.swf.gz", scores(), [False, True, True]),  # 1.2 points where 1 is allowed
        ("other.swf", scores(-0.02), [False, True, True]),  # too few is as bad as too many
        ("other.swf", scores(None, None), [None, True, None]),  # nothing to judge
        ("other.swf", scores(0.0, 1.01), [True, True, False]),
        ("other.swf", scores(0.0, 1.01, kills=False), [True, True]),
    ],
)
def test_limits(file: str, found: dict[str, object], within: list[bool | None]) -> None:
    assert [limit["within"] for limit in limits(file, found)] == within
