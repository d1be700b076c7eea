"""What several records of one job come to: attempts, spans and steps, whichever order the files came in."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import FIELDS, dump, job, rows, step, take, utc, workspace

T = "2026-05-05T"


def attempts(
    root: Path, *texts: str, columns: tuple[str, ...] = ("job_id", "state", "elapsed_s")
) -> list[dict[str, Any]]:
    space = workspace(root)
    assert [r.error for r in take(space, *texts)] == [""] * len(texts)
    return rows(space, "job", *columns)


RUNNING = dump(
    job("900", State="RUNNING", End="Unknown", ElapsedRaw="600", TotalCPU="00:00:00"),
    step("900", State="RUNNING", End="Unknown"),
)
ENDED = dump(job("900", State="COMPLETED"), step("900", MaxRSS="1000K"))
LATER = dump(job("900", State="COMPLETED", End=f"{T}09:00:05", ElapsedRaw="3605"))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_an_ended_record_beats_a_running_one_then_the_later_end_wins(tmp_path: Path, order: tuple[int, ...]) -> None:
    texts = [RUNNING, ENDED, LATER]
    found = attempts(tmp_path / "a", *(texts[i] for i in order), columns=("state", "end_time", "elapsed_s"))
    assert found == [{"state": "COMPLETED", "end_time": utc(f"{T}09:00:05"), "elapsed_s": 3605}]


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_a_step_seen_twice_is_one(tmp_path: Path, order: tuple[int, ...]) -> None:
    space = workspace(tmp_path / "a")
    take(space, *(([RUNNING, ENDED])[i] for i in order))
    assert rows(space, "step", "step_id", "state", "max_rss_bytes") == [
        {"step_id": "batch", "state": "COMPLETED", "max_rss_bytes": 1024000}
    ]


def test_a_requeued_job_has_two_attempts_with_steps_of_their_own(tmp_path: Path) -> None:
    text = dump(
        job("903", State="REQUEUED", End=f"{T}08:50:00", ElapsedRaw="3000"),
        step("903", End=f"{T}08:50:00", MaxRSS="13000000K"),
        job("903", Submit=f"{T}09:05:00", Start=f"{T}09:20:00", End=f"{T}09:53:20", ElapsedRaw="2000"),
        step("903", Start=f"{T}09:20:00", End=f"{T}09:53:20", MaxRSS="14000000K"),
    )
    space = workspace(tmp_path / "a")
    take(space, text)
    assert rows(space, "job", "submit", "state", "elapsed_s") == [
        {"submit": utc(f"{T}07:00:00"), "state": "REQUEUED", "elapsed_s": 3000},
        {"submit": utc(f"{T}09:05:00"), "state": "COMPLETED", "elapsed_s": 2000},
    ]
    assert rows(space, "step", "submit", "max_rss_bytes") == [
        {"submit": utc(f"{T}07:00:00"), "max_rss_bytes": 13312000000},
        {"submit": utc(f"{T}09:05:00"), "max_rss_bytes": 14336000000},
    ]


def test_an_id_used_again_years_later_is_another_job(tmp_path: Path) -> None:
    old = dump(job("900", Submit="2019-01-01T00:00:00", Start="2019-01-01T00:00:00", End="2019-01-01T01:00:00"))
    assert len(attempts(tmp_path / "a", old, ENDED)) == 2


def test_another_dbindex_in_the_same_second_is_another_attempt_and_none_is_the_same(tmp_path: Path) -> None:
    first, second = (
        job("900", DBIndex="7", State="REQUEUED", End=f"{T}08:10:00", ElapsedRaw="600"),
        job("900", DBIndex="9", Start=f"{T}08:20:00"),
    )
    text = dump(
        first,
        step("900", DBIndex="7", MaxRSS="1K", End=f"{T}08:10:00"),
        second,
        step("900", DBIndex="9", MaxRSS="2K", Start=f"{T}08:20:00"),
    )
    space = workspace(tmp_path / "a")
    take(space, text, dump(job("900", Start=f"{T}08:20:00")))
    assert rows(space, "job", "state") == [{"state": "COMPLETED"}, {"state": "REQUEUED"}]
    joined = rows(space, "step AS s JOIN job AS j USING (cluster, job_id_raw, submit)", "j.state", "s.max_rss_bytes")
    assert joined == [
        {"state": "COMPLETED", "max_rss_bytes": 2048},
        {"state": "REQUEUED", "max_rss_bytes": 1024},
    ]


def test_a_sluid_is_the_same_identity_as_the_dbindex_it_spells(tmp_path: Path) -> None:
    spelled = dump(job("900", SLUID="s5M9M8NTDNAA00"), fields=[*FIELDS[:-1], "SLUID", "JobName"])
    assert len(attempts(tmp_path / "a", dump(job("900", DBIndex="6496029796040255488")), spelled)) == 1
    assert len(attempts(tmp_path / "b", dump(job("900", DBIndex="7")), spelled)) == 2


@pytest.mark.parametrize("order", [1, -1])
def test_requeues_in_one_second_without_identity_are_told_by_their_starts(tmp_path: Path, order: int) -> None:
    def run(start: int, end: int, state: str) -> str:
        return dump(
            job(
                "900",
                State=state,
                Start=f"{T}{start:02}:00:00",
                End=f"{T}{end:02}:00:00",
                ElapsedRaw=str((end - start) * 3600),
            )
        )

    waiting = dump(job("900", State="PENDING", Start="Unknown", End="Unknown", ElapsedRaw="0"))
    texts = [run(8, 9, "REQUEUED"), run(9, 11, "REQUEUED"), run(11, 12, "COMPLETED"), waiting][::order]
    found = attempts(tmp_path / "a", *texts, columns=("state", "elapsed_s"))
    assert [(r["state"], r["elapsed_s"]) for r in found] == [
        ("COMPLETED", 3600),
        ("REQUEUED", 3600),
        ("REQUEUED", 7200),
    ]


def test_the_second_of_two_same_hours_is_the_same_submission_by_epoch_and_by_clock(tmp_path: Path) -> None:
    times = {"Start": "2026-11-01T01:45:00", "End": "2026-11-01T03:00:00", "ElapsedRaw": "4500"}
    local = dump(job("900", Submit="2026-11-01T01:40:00", **times))
    epoch = dump(job("900", Submit="1793515200", Start="1793515500", End="1793520000", ElapsedRaw="4500"))
    space = workspace(tmp_path / "a", timezone="America/New_York")
    take(space, local, epoch)
    assert len(rows(space, "job")) == 1


def test_steps_find_their_attempt_in_another_file(tmp_path: Path) -> None:
    space = workspace(tmp_path / "a")
    take(space, dump(step("900")), dump(job("900")))
    assert rows(space, "step", "submit") == [{"submit": utc(f"{T}07:00:00")}]


RESIZED_24 = dump(  # the steps end with the first record and begin anew
    job(
        "910",
        State="RESIZING",
        NNodes="2",
        NodeList="n[1-2]",
        AllocTRES="cpu=8,mem=16G,node=2",
        AllocCPUS="8",
    ),
    step("910", State="RESIZING", MaxRSS="10K"),
    job(
        "910",
        Submit=f"{T}09:00:00",
        Start=f"{T}09:00:00",
        End=f"{T}11:00:00",
        ElapsedRaw="7200",
        State="TIMEOUT",
    ),
    step("910", Start=f"{T}09:00:00", End=f"{T}11:00:00", MaxRSS="20K"),
)
RESIZED_26 = dump(  # the steps stay with the first record; its memory is rewritten, the steps keep what was held
    job(
        "910",
        State="RESIZING",
        SLUID="sA",
        OriginalSLUID="sA",
        AllocTRES="cpu=4,mem=150M,node=1",
        ReqMem="150M",
    ),
    step("910", AllocTRES="cpu=4,mem=400M", End=f"{T}11:00:00", MaxRSS="20K"),
    job(
        "910",
        SLUID="sB",
        OriginalSLUID="sA",
        Submit=f"{T}09:00:00",
        Start=f"{T}09:00:00",
        End=f"{T}11:00:00",
        ElapsedRaw="7200",
        AllocTRES="cpu=4,mem=150M,node=1",
        State="TIMEOUT",
    ),
    fields=[*FIELDS[:-1], "SLUID", "OriginalSLUID", "JobName"],
)


RESIZED_22 = RESIZED_24.replace(
    f"{T}09:00:00|{T}09:00:00|{T}11:00:00|7200|TIMEOUT", f"{T}09:00:00|{T}08:00:00|{T}11:00:00|10800|TIMEOUT"
)


@pytest.mark.parametrize("text", [RESIZED_22, RESIZED_24, RESIZED_26])
def test_a_resized_job_is_one_attempt_with_two_spans(tmp_path: Path, text: str) -> None:
    space = workspace(tmp_path / "a")
    take(space, text)
    assert rows(space, "job", "submit", "start_time", "end_time", "elapsed_s", "state") == [
        {
            "submit": utc(f"{T}07:00:00"),
            "start_time": utc(f"{T}08:00:00"),
            "end_time": utc(f"{T}11:00:00"),
            "elapsed_s": 10800,
            "state": "TIMEOUT",
        }
    ]
    assert {r["submit"] for r in rows(space, "step", "submit")} == {utc(f"{T}07:00:00")}
    spans = rows(space, "span", "from_time", "to_time", "cores", "mem_bytes")
    assert [(s["from_time"], s["to_time"]) for s in spans] == [
        (utc(f"{T}08:00:00"), utc(f"{T}09:00:00")),
        (utc(f"{T}09:00:00"), utc(f"{T}11:00:00")),
    ]
    expected = [(8, 16 * 2**30), (4, 8 * 2**30)] if text is not RESIZED_26 else [(4, 400 * 2**20), (4, 150 * 2**20)]
    assert [(s["cores"], s["mem_bytes"]) for s in spans] == expected


def test_a_folded_array_row_gives_way_to_its_last_task(tmp_path: Path) -> None:
    waiting = job("800", JobID="800_[5-6%2]", State="PENDING", Start="Unknown", End="Unknown", ElapsedRaw="0")
    found = attempts(
        tmp_path / "a",
        dump(waiting),
        dump(job("800", JobID="800_6")),
        columns=("job_id", "array_tasks", "state"),
    )
    assert found == [{"job_id": "800_6", "array_tasks": None, "state": "COMPLETED"}]


def test_inventories_that_differ_are_sizes_over_time(tmp_path: Path) -> None:
    def node(memory: int, seen: str) -> str:
        return (
            f"NodeName=n1 Arch=x86_64 CPUAlloc=0 CPUEfctv=30 CPUTot=32 Gres=gpu:a100:4(S:0-1) RealMemory={memory} "
            f"MemSpecLimit=1024 State=IDLE ThreadsPerCore=2 Partitions=gpu,batch BootTime={seen} Reason=not a key=value\n"
        )

    space = workspace(tmp_path / "a")
    take(space, node(5120, f"{T}00:00:00"), node(3072, f"{T}12:00:00"), node(3072, f"{T}18:00:00"))
    assert rows(space, "node", "from_time", "to_time", "cores", "mem_bytes", "gpu_type", "gpus", "partitions") == [
        {
            "from_time": utc(f"{T}12:00:00"),
            "to_time": None,
            "cores": 30,
            "mem_bytes": 2 * 2**30,
            "gpu_type": "a100",
            "gpus": 4,
            "partitions": "batch,gpu",
        },
        {
            "from_time": None,
            "to_time": utc(f"{T}12:00:00"),
            "cores": 30,
            "mem_bytes": 4 * 2**30,
            "gpu_type": "a100",
            "gpus": 4,
            "partitions": "batch,gpu",
        },
    ]


def test_an_event_that_ended_beats_the_same_one_open(tmp_path: Path) -> None:
    head = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    still = f"{head}alpha|n1|{T}01:00:00|Unknown|DOWN*|disk | fan|root\nalpha||{T}01:00:00|Unknown||Cluster Registered TRES|slurm\n"
    broken = f"{head}alpha|n2|{T}03:00:00|{T}04:00:00|DRAIN|first\nsecond | line|root\nalpha|n2|{T}05:\nalpha|n2|{T}06:00:00|{T}07:00:00|MAINT|x\x1c|root\n"
    over = f"{head}alpha|n1|{T}01:00:00|{T}02:00:00|DOWN*|disk | fan|root\nbeta|n9|{T}01:00:00|Unknown|DOWN|x|root\n"
    space = workspace(tmp_path / "a")
    assert [(r.node_states, r.other_cluster) for r in take(space, still, over)] == [(1, 0), (1, 1)]
    assert rows(space, "node_state", "node", "to_time", "state", "reason", "is_down") == [
        {
            "node": "n1",
            "to_time": utc(f"{T}02:00:00"),
            "state": "DOWN",
            "reason": "disk | fan",
            "is_down": True,
        }
    ]
    assert [(r.node_states, r.rejects) for r in take(space, broken)] == [(2, 1)]
    assert rows(space, "node_state", "node", "state", "reason")[1:] == [
        {"node": "n2", "state": "DRAIN", "reason": "first\nsecond | line"},
        {"node": "n2", "state": "MAINT", "reason": "x\x1c"},
    ]
