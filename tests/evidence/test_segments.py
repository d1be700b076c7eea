"""Segments: what is whole is read, what is not is named; unknown kinds and columns pass, hostile lines are rejects."""

import gzip
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.evidence import READERS, TABLES, Context, EvidenceError, recognised
from tests.dumps import read
from tests.evidence.segment import COLUMNS, T0, header, interval, line, member, segment

EIGHT = datetime(2026, 5, 5, 8)
BUSY = {"job": "12", "since_s": T0, "cpu_s": 30.5, "anon_shmem_bytes_max": 3 * 2**30}


def told(path: Path, data: bytes) -> dict[str, list[dict[str, object]]]:
    return read(path / "a.seg.gz", data)


def test_rows_carry_the_segment_s_node_and_times_in_utc(tmp_path: Path) -> None:
    found = told(tmp_path, segment(interval(0, 60, line("job", span=(0, 60), samples=6, **BUSY))))
    (row,) = found["sample_job"]
    assert (row["cluster"], row["node"], row["job"], row["since_time"]) == ("alpha", "n1", "12", EIGHT)
    assert (row["from_time"], row["interval_s"], row["cpu_s"]) == (EIGHT, 60, 30.5)
    assert (row["anon_shmem_bytes_max"], row["file_bytes_max"], row["oom_kills"]) == (3 * 2**30, None, None)
    (told_interval,) = found["sample_interval"]
    assert (told_interval["boot_id"], told_interval["role"], told_interval["mono_s"]) == ("boot-1", "node", 1000)


@pytest.mark.parametrize(
    "data", [b"", b"\x1f\x8b\x08", gzip.compress(b"JobID|State\n", mtime=0), b"not packed"], ids=repr
)
def test_what_is_named_a_segment_and_is_none_is_taken_for_nothing_else(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "n1-node-1-0a1b2c3d.seg.gz"
    path.write_bytes(data)
    with pytest.raises(EvidenceError, match="segment"):
        recognised(path)


def test_each_row_knows_its_interval_over_any_number_of_members(tmp_path: Path) -> None:
    texts = (interval(60 * n, 60 * n + 60, line("job", span=(60 * n, 60 * n + 60), **BUSY)) for n in range(1500))
    found = told(tmp_path, segment(*texts))
    assert [row["interval_no"] for row in found["sample_job"]] == list(range(1500))
    assert [row["interval_no"] for row in found["sample_interval"]] == list(range(1500))


def test_columns_are_taken_by_name_and_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    columns = {"interval": ["to_s", "from_s"], "job": ["to_s", "colour", "job", "from_s"], "later": ["what"]}
    lines = f"interval\t{T0 + 60}\t{T0}\njob\t{T0 + 60}\tred\t12\t{T0}\nlater\tx\ty\tz\n"
    found = told(tmp_path, member(header(columns=columns) + lines))
    (row,) = found["sample_job"]
    assert (row["job"], row["interval_s"], row["cpu_s"], row["since_time"]) == ("12", 60, None, None)
    assert found["reject_record"] == []


def test_a_kind_without_a_time_is_one_reject(tmp_path: Path) -> None:
    columns = {"interval": ["from_s", "to_s"], "job": ["job", "from_s"]}
    lines = f"interval\t{T0}\t{T0 + 60}\n" + f"job\t12\t{T0}\n" * 3
    found = told(tmp_path, member(header(columns=columns) + lines))
    assert [(r["line"], r["reason"], r["text"]) for r in found["reject_record"]] == [
        (3, "job: to_s is in no column", "3 lines")
    ]


def test_a_torn_tail_loses_its_interval_and_says_how_much(tmp_path: Path) -> None:
    whole = segment(interval(0, 60), interval(60, 120))
    torn = member(interval(120, 180))[:-9]
    found = told(tmp_path, whole + torn)
    assert len(found["sample_interval"]) == 2
    (reject,) = found["reject_record"]
    assert (reject["reason"], reject["text"]) == ("its end is torn", f"{len(torn)} bytes hold no whole interval")


def test_damage_in_the_middle_costs_the_damaged_interval_only(tmp_path: Path) -> None:
    broken = bytearray(member(interval(60, 120)))
    broken[len(broken) // 2] ^= 0xFF
    found = told(tmp_path, segment(interval(0, 60)) + bytes(broken) + member(interval(120, 180)))
    assert [row["from_time"].minute for row in found["sample_interval"]] == [0, 2]
    assert [row["reason"] for row in found["reject_record"]] == ["damaged"]


@pytest.mark.parametrize("code", [b"\0", b"\n", b"\t"])
def test_a_member_that_unpacks_to_more_than_any_interval_is_damage(tmp_path: Path, code: bytes) -> None:
    bomb = gzip.compress(code * (9 << 20))
    found = told(tmp_path, segment(interval(0, 60)) + bomb + member(interval(60, 120)))
    assert len(found["sample_interval"]) == 2
    assert [row["reason"] for row in found["reject_record"]] == ["damaged"]


def test_a_file_that_is_nearly_all_damage_is_given_up_and_what_it_cost_is_told(tmp_path: Path) -> None:
    found = told(tmp_path, segment(interval(0, 60)) + b"\x1f\x8b\x08" * 5000)
    assert len(found["sample_interval"]) == 1
    assert [row["text"] for row in found["reject_record"]] == ["15000 bytes hold no whole interval"]


def test_lines_beyond_count_are_counted(tmp_path: Path) -> None:
    found = told(tmp_path, segment(interval(0, 60, "job\t1\n" * 1500)))
    assert len(found["reject_record"]) == 1001
    assert found["reject_record"][-1]["text"] == "and 500 more lines"


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_wherever_it_is_cut_whole_intervals_stay(tmp_path: Path, cut: int) -> None:
    parts = [segment(interval(0, 60))] + [member(interval(60 * n, 60 * n + 60)) for n in range(1, 5)]
    data = b"".join(parts)[: len(parts[0]) + cut]
    whole = sum(sum(map(len, parts[: n + 1])) <= len(data) for n in range(len(parts)))
    assert len(told(tmp_path, data)["sample_interval"]) == whole


def test_names_are_unescaped_and_stay_text(tmp_path: Path) -> None:
    text = r"<b>'; DROP\x09TABLE\x0a \xc3\xa9 \xff \x00"
    found = told(tmp_path, segment(interval(0, 60, line("event", at_s=T0, kind="stop", text=text))))
    assert found["collector_event"][0]["text"] == "<b>'; DROP\tTABLE\n é \\xff \\x00"


HOSTILE = {
    "too few fields": ("job\t12\t1\n", "job: not 14 fields"),
    "too many fields": (line("job", span=(0, 60), **BUSY).rstrip("\n") + "\tx\n", "job: not 14 fields"),
    "no number": (line("job", span=(0, 60), **{**BUSY, "cpu_s": "many"}), "job: cpu_s is no number"),
    "not a number": (line("job", span=(0, 60), **{**BUSY, "cpu_s": "nan"}), "job: cpu_s is no number"),
    "without end": (line("job", span=(0, 60), **{**BUSY, "cpu_s": "inf"}), "job: cpu_s is no number"),
    "negative": (line("job", span=(0, 60), **{**BUSY, "cpu_s": -1}), "job: cpu_s is negative"),
    "past 64 bits": (line("job", span=(0, 60), **{**BUSY, "oom_kills": 2**65}), "job: oom_kills is no number"),
    "no job": (line("job", span=(0, 60), **{**BUSY, "job": "../1"}), "job: job is no job"),
    "nobody's": (line("job", span=(0, 60), **{**BUSY, "job": ""}), "job: job is missing"),
    "no time": (line("job", **{**BUSY, "from_s": "now", "to_s": T0}), "job: from_s is no time"),
    "the year 1970": (line("job", **{**BUSY, "from_s": 0, "to_s": T0}), "job: from_s is no time"),
    "the year 5000": (line("job", **{**BUSY, "from_s": T0, "to_s": 10**11}), "job: to_s is no time"),
    "no end": (line("job", **{**BUSY, "from_s": T0}), "job: to_s is missing"),
    "backwards": (line("job", span=(60, 0), **BUSY), "job: it ends before it begins, or is longer than a year"),
    "more than any": (line("job", span=(0, 60), **{**BUSY, "cpu_s": "1e300"}), "job: cpu_s is more than can be"),
    "more bytes than any": (
        line("job", span=(0, 60), **{**BUSY, "anon_shmem_bytes_max": 2**62}),
        "job: anon_shmem_bytes_max is more than can be",
    ),
    "more than all of a GPU": (
        line("gpu", span=(0, 60), uuid="GPU-a", util_mean=300),
        "gpu: util_mean is more than all",
    ),
}


@pytest.mark.parametrize(("text", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_line_that_cannot_be_is_a_reject_and_the_rest_counts(tmp_path: Path, text: str, reason: str) -> None:
    found = told(tmp_path, segment(interval(0, 60, text, line("job", span=(0, 60), **BUSY))))
    assert len(found["sample_job"]) == 1
    assert [(row["line"], row["reason"]) for row in found["reject_record"]] == [(3, reason)]


def test_bytes_that_are_no_utf8_become_their_codes(tmp_path: Path) -> None:
    text = header() + interval(0, 60, line("event", at_s=T0, kind="stop", text="MARK"))
    data = gzip.compress(text.encode().replace(b"MARK", b"\xff\xfe"))
    assert told(tmp_path, data)["collector_event"][0]["text"] == "\\xff\\xfe"


def test_another_cluster_s_rows_are_left_out(tmp_path: Path) -> None:
    found = told(tmp_path, segment(interval(0, 60, line("job", span=(0, 60), **BUSY)), cluster="beta"))
    assert "sample_job" not in found


def test_node_states_become_spans_each_until_the_next_and_the_last_to_the_end(tmp_path: Path) -> None:
    lines = (
        line("state", at_s=T0, node="n1", state="IDLE"),
        line("state", at_s=T0, node="n2", state="mixed*+drain", reason=r"bad\x0adisk"),
        line("state", at_s=T0 + 30, node="n1", state="ALLOCATED"),
    )
    found = told(tmp_path, segment(interval(0, 60, *lines), interval(60, 120), role="controller", node="ctl"))
    spans = [
        (r["node"], r["from_time"].second, r["to_time"], r["state"], r["reason"]) for r in found["node_state_record"]
    ]
    half, end = datetime(2026, 5, 5, 8, 0, 30), datetime(2026, 5, 5, 8, 2)
    assert spans == [
        ("n1", 0, half, "IDLE", None),
        ("n1", 30, end, "ALLOCATED", None),
        ("n2", 0, end, "MIXED+DRAIN", "bad\ndisk"),
    ]


WITHOUT_HEADER = {
    "no header": member(interval(0, 60)),
    "a header of another kind": member('#{"format": 1}\n'),
    "columns that are no lists": member(header(columns={"job": 5})),
    "a node without a name": member(header(node="")),
    "another format": member(header(format=2)),
    "a column named by half a character": member(header(columns={"job": ["\ud800", "job", "from_s", "to_s"]})),
    "columns without end": member(header(columns={"job": [f"c{n}" for n in range(100_000)]})),
}


@pytest.mark.parametrize("data", WITHOUT_HEADER.values(), ids=WITHOUT_HEADER)
def test_without_a_header_nothing_can_be_read(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(EvidenceError):
        told(tmp_path, data)


_BITES = st.lists(st.tuples(st.integers(0, 5000), st.binary(max_size=12)), min_size=1, max_size=6)


def _bitten(data: bytes, bites: list[tuple[int, bytes]]) -> bytes:
    for place, put in bites:
        at = place % len(data)
        data = data[:at] + put + data[at + len(put) // 2 :]
    return data


@given(_BITES, st.booleans())
def test_whatever_is_in_it_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, bites: list[tuple[int, bytes]], inside: bool
) -> None:
    texts = [interval(60 * n, 60 * n + 60, line("job", span=(60 * n, 60 * n + 60), **BUSY)) for n in range(3)]
    plain = (header() + "".join(texts)).encode()
    data = gzip.compress(_bitten(plain, bites), mtime=0) if inside else _bitten(segment(*texts), bites)
    path = tmp_path_factory.mktemp("bitten") / "a.seg.gz"
    path.write_bytes(data)
    try:
        batches = list(READERS["collector segment"](path, Context("alpha", "UTC")))
    except EvidenceError:
        return
    for batch in batches:
        for table, rows in batch.rows.items():
            assert rows.schema == pl.Schema(TABLES[table])


def test_every_kind_of_line_has_a_table(tmp_path: Path) -> None:
    place = {"event": {"at_s": T0, "kind": "stop"}, "alloc": {"at_s": T0, "job_id": 1, "node": "n2"}}
    given = {
        "job": BUSY,
        "gpu": {"uuid": "GPU-a"},
        "gpu_job": {"uuid": "GPU-a", "job": 7},
        "node": {"cores": 4},
        "gap": {"reason": "killed"},
    }
    lines = [line(kind, **said) for kind, said in place.items()]
    lines += [line(kind, span=(0, 60), **said) for kind, said in given.items()]
    found = told(tmp_path, segment(interval(0, 60, *lines)))
    tables = "sample_job sample_gpu sample_gpu_job sample_node collector_gap collector_event allocation_seen".split()
    assert {table: len(found[table]) for table in tables} == dict.fromkeys(tables, 1)
    assert found["allocation_seen"][0]["node"] == "n2"
    assert found["reject_record"] == []
    assert set(COLUMNS) == {"interval", "state", *place, *given}
