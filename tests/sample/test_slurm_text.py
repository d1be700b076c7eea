"""Numbers are spelt as sacct spells them; the examples are from real dumps."""

import polars as pl
import pytest

from audit.sample.identity import compress
from audit.sample.slurm_text import clock, cpu_time, exact_mib, resident


def _spelt(make, number: int) -> str:
    return pl.DataFrame({"n": [number]}).select(make(pl.col("n"))).item()


@pytest.mark.parametrize(
    ("mib", "text"),
    [
        (400, "400M"),
        (1024, "1G"),
        (1800, "1800M"),
        (16000, "16000M"),
        (64000, "62.50G"),
        (1 << 20, "1T"),
        (3 << 19, "1.50T"),
    ],
)
def test_requested_memory(mib, text):
    assert _spelt(exact_mib, mib) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0"), (126476 * 1024, "126476K"), (108296874, "108296874"), (524288, "512K")]
)
def test_measured_memory(size, text):
    assert _spelt(resident, size) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "00:00:00"),
        (2285, "00:02.285"),
        (961272, "16:01.272"),
        (3600000, "01:00:00"),
        (186711000, "2-03:51:51"),
    ],
)
def test_cpu_time(milliseconds, text):
    assert _spelt(cpu_time, milliseconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(2, "00:00:02"), (86399, "23:59:59"), (90061, "1-01:01:01")])
def test_clock(seconds, text):
    assert _spelt(clock, seconds) == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a007"], "a007"),
        (["c001", "c002", "c003"], "c[001-003]"),
        (["c001", "c003", "c004", "c007"], "c[001,003-004,007]"),
    ],
)
def test_host_lists(names, text):
    assert compress(names) == text
