"""What a model may learn of each attempt: hand-written attempts of a small cluster."""

from typing import Any

import numpy as np
import pytest

from audit.accounting.views import create_use_views
from audit.sizing.cases import Cases, cases
from tests.accounting.cluster import GIB, Cluster, at


def of(cluster: Cluster, **how: Any) -> Cases:
    connection = cluster.connect()
    create_use_views(connection, cluster.workspace())
    return cases(connection, **how)


def attempt(
    cluster: Cluster, state: str, *, peak_gib: float | None = None, mem_gib: float | None = 8, **job: Any
) -> None:
    cluster.job("1", 0, 1, mem_gib=mem_gib, state=state, user_name="ann", account="chem", job_name="relax-1", **job)
    peak = None if peak_gib is None else int(peak_gib * GIB)
    cluster.step("1", "batch", 0, 1, tasks=1, node_count=1, max_rss_bytes=peak, rss_bytes=peak)
    # one that ended well, so that there is a problem at all
    cluster.job("2", 2, 3, mem_gib=8, user_name="ann", account="chem", job_name="relax-2", time_limit_s=7200)
    cluster.step("2", "batch", 2, 3, submit=2, tasks=1, node_count=1, max_rss_bytes=GIB, rss_bytes=GIB)


@pytest.mark.parametrize(
    ("state", "peak_gib", "mem_gib", "need_gib", "is_bound"),
    [
        pytest.param("COMPLETED", 3, 8, 3, False, id="what it used"),
        pytest.param("CANCELLED", 3, 8, 3, False, id="cancelled: an ordinary end"),
        pytest.param("FAILED", 3, 8, None, False, id="failed: tells nothing"),
        pytest.param("TIMEOUT", 3, 8, 3, False, id="out of time: its memory was seen"),
        pytest.param("OUT_OF_MEMORY", 7.5, 8, 8, True, id="out of memory: at least what it held"),
        pytest.param("OUT_OF_MEMORY", None, 8, 8, True, id="out of memory, no peak seen"),
        pytest.param("OUT_OF_MEMORY", None, None, None, True, id="out of memory of an amount that is not known"),
    ],
)
def test_what_an_attempt_tells_of_memory(
    state: str, peak_gib: float | None, mem_gib: float | None, need_gib: float | None, is_bound: bool
) -> None:
    cluster = Cluster()
    cluster.node("n1")
    attempt(cluster, state, peak_gib=peak_gib, mem_gib=mem_gib)
    memory = of(cluster).problems["memory"]
    assert memory.is_bound[0] == is_bound
    assert np.isnan(memory.need[0]) if need_gib is None else memory.need[0] == need_gib * GIB


def test_out_of_time_an_attempt_needed_at_least_its_limit() -> None:
    cluster = Cluster()
    cluster.node("n1")
    attempt(cluster, "TIMEOUT", time_limit_s=3590)
    walltime = of(cluster).problems["walltime"]
    assert (walltime.need.tolist(), walltime.is_bound.tolist()) == ([3600, 3600], [True, False])
    assert walltime.asked.tolist() == [3590, 7200]


def test_names_are_families_of_an_account() -> None:
    cluster = Cluster()
    cluster.node("n1")
    attempt(cluster, "COMPLETED", peak_gib=1)
    found = of(cluster)
    assert (found.users, found.names) == (["ann"], ["chem/relax-#"])


def test_what_waited_and_never_started_counts_as_waiting_until_it_was_cancelled() -> None:
    cluster = Cluster()
    cluster.node("n1")
    attempt(cluster, "COMPLETED", peak_gib=1)
    waited = {"user_name": "ann", "account": "chem", "job_name": "relax-3", "req_mem_bytes": 4 * GIB}
    cluster.add("job", job_id_raw="3", submit=at(1), job_id="3", state="CANCELLED", end_time=at(5), **waited)
    memory = of(cluster).problems["memory"]
    assert np.isnan(memory.need).tolist() == [False, True, False]
    assert (memory.attempts.end_s - memory.attempts.submit_s)[1] == 4 * 3600
    assert memory.asked[1] == 4 * GIB
    assert len(of(cluster, at_start=True).problems["memory"]) == 2
