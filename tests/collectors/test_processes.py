"""CPU time of a job from its processes, where no cgroup counts it: it never falls and counts nothing twice.

Times are in clock ticks, a hundred a second. Process 100 is the step's daemon, the parent of the rest unless said.
"""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "collectors"))
from audit_collector.processes import TICK_S, Processes

Seen = dict[int, tuple[int, int, int]]  # pid: (parent, own ticks, waited-for children's ticks)

# case: (what is there at each sample, the sum at each)
CASES: dict[str, tuple[list[Seen], list[int]]] = {
    "one that runs": ([{100: (1, 0, 0), 101: (100, 50, 0)}, {100: (1, 0, 0), 101: (100, 80, 0)}], [50, 80]),
    "a child that its parent waited for": (
        [{100: (1, 1, 0), 101: (100, 50, 0)}, {100: (1, 1, 70)}],
        [51, 71],
    ),
    "a child whose parent does not care": (
        [{100: (1, 1, 0), 101: (100, 50, 0)}, {100: (1, 1, 0)}, {100: (1, 9, 0)}],
        [51, 51, 59],
    ),
    "child and grandchild at once": (
        [{100: (1, 0, 0), 101: (100, 10, 0), 102: (101, 40, 0)}, {100: (1, 0, 55)}],
        [50, 55],
    ),
    "all gone but one that came": (
        [{100: (1, 5, 20), 101: (100, 40, 0)}, {200: (1, 3, 0)}],
        [65, 68],
    ),
    "an orphan taken over by a process outside the job": (
        [{100: (1, 5, 0), 101: (100, 40, 0)}, {101: (1, 45, 0)}, {300: (1, 1, 0)}],
        [45, 50, 51],
    ),
    "a daemon that had waited for others before": ([{100: (1, 0, 500)}], [500]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sum(tmp_path: Path, case: str) -> None:
    seen, expected = CASES[case]
    processes = Processes(str(tmp_path))
    sums = []
    for now in seen:
        for known in tmp_path.glob("proc/*/stat"):
            known.unlink()
        for pid, (parent, own, waited) in now.items():
            (tmp_path / f"proc/{pid}").mkdir(parents=True, exist_ok=True)
            text = f"{pid} (a b) ) S {parent} 0 0 0 0 0 0 0 0 0 {own} 0 {waited} 0 20 0 1 0 {pid} 0 0\n"
            (tmp_path / f"proc/{pid}/stat").write_text(text)
        sums.append(round(processes.sample(list(now)) / TICK_S))
    assert sums == expected


def test_io_that_no_kernel_counts_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "proc/101").mkdir(parents=True)
    processes = Processes(str(tmp_path))
    assert processes.sample_io([101]) == (None, None)
    told = "rchar: 9\nwchar: 9\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 0\n"
    (tmp_path / "proc/101/io").write_text(told)
    assert processes.sample_io([101]) == (4096, 512)
    assert processes.sample_io([]) == (4096, 512)


def test_a_number_taken_again_is_another_process(tmp_path: Path) -> None:
    processes = Processes(str(tmp_path))
    (tmp_path / "proc/101").mkdir(parents=True)
    for start, own, total in ((1, 40, 40), (2, 3, 43)):
        (tmp_path / "proc/101/stat").write_text(f"101 (x) R 1 0 0 0 0 0 0 0 0 0 {own} 0 0 0 20 0 1 0 {start} 0 0\n")
        assert round(processes.sample([101]) / TICK_S) == total
