"""The problems of a cluster: its attempts and what they needed of each target, out of the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from audit.sizing.attempts import TARGETS, Attempts, Floats, Ints, Problem, problem


@dataclass(frozen=True)
class Key:
    """What tells the attempts of a problem apart in the store, row by row of the problem."""

    cluster: NDArray[Any]
    job_id_raw: NDArray[Any]
    submit_s: Floats
    nodes: Floats

    def take(self, rows: Ints) -> "Key":
        """The keys of the given rows."""
        return Key(self.cluster[rows], self.job_id_raw[rows], self.submit_s[rows], self.nodes[rows])


@dataclass(frozen=True)
class Cases:
    """A problem for each target of which anything was measured, and what its codes stand for.

    `lowers_cores`: the cores problem is of the most cores in any interval; otherwise of the mean, which says what was
    used and lowers nothing.
    """

    problems: dict[str, Problem]
    keys: dict[str, Key]
    users: Sequence[str]
    names: Sequence[str]
    partitions: Sequence[str]
    lowers_cores: bool


def cases(connection: duckdb.DuckDBPyConnection, *, at_start: bool = False) -> Cases:
    """Reads the problems on a connection with accounting's use views (`create_use_views`).

    By submission, or `at_start`: as pending jobs are foreseen again, when they start.
    """
    sql = (Path(__file__).parent / "case.sql").read_text(encoding="utf-8")
    read = connection.execute(sql).fetchnumpy()
    order = np.lexsort((read["job_id_raw"].astype(str), read["submit_s"]))
    columns = {name: column[order] for name, column in read.items()}
    coded = {}
    for name in ("user_name", "name", "partition"):
        coded[name] = np.unique(columns[name].astype(str), return_inverse=True)
    asked = {name: _plain(columns[f"asked_{name}"]) for name in TARGETS}
    attempts = Attempts(
        submit_s=_plain(columns["submit_s"]),
        start_s=_plain(columns["start_s"]),
        end_s=_plain(columns["end_s"]),
        run_s=_plain(columns["run_s"]),
        user=coded["user_name"][1].astype(np.int64),
        name=coded["name"][1].astype(np.int64),
        partition=coded["partition"][1].astype(np.int64),
        cores=asked["cores"],
        mem_bytes=asked["memory"],
        gpus=asked["gpus"],
        limit_s=asked["walltime"],
    )
    key = Key(columns["cluster"], columns["job_id_raw"], attempts.submit_s, _plain(columns["nodes"]))
    lowers_cores = bool(np.isfinite(_plain(columns["cores"])).any())
    found, keys = {}, {}
    for name, target in TARGETS.items():
        need = _plain(columns["mean_cores" if name == "cores" and not lowers_cores else name])
        rows = np.flatnonzero(_concerned(name, asked["gpus"]) & (np.isfinite(attempts.start_s) | (not at_start)))
        if np.isfinite(need[rows]).any():
            bound = np.ma.filled(columns[f"{name}_is_bound"], False).astype(bool)[rows]
            sized = problem(
                target, attempts.take(rows), need[rows], is_bound=bound, asked=asked[name][rows], at_start=at_start
            )
            found[name] = sized
            keys[name] = key.take(rows[sized.rows])
    return Cases(
        found,
        keys,
        users=coded["user_name"][0].tolist(),
        names=coded["name"][0].tolist(),
        partitions=coded["partition"][0].tolist(),
        lowers_cores=lowers_cores,
    )


def _plain(column: NDArray[Any]) -> Floats:
    return np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)


def _concerned(target: str, gpus: Floats) -> NDArray[np.bool_]:
    """The attempts a target is about: what is of GPUs, those that asked for some."""
    if target in ("gpus", "vram", "gpu_activity"):
        return np.nan_to_num(gpus) > 0
    return np.ones(len(gpus), dtype=bool)
