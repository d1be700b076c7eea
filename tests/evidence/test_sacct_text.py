"""`sacct` text: each odd form that was met is one row, with the smallest dump that shows it."""

from pathlib import Path
from typing import Any

import pytest

from audit.evidence import EvidenceError
from audit.site import SITE_FIELDS
from tests.dumps import DEFAULT, FIELDS, dump, job, read, step, utc


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "dump"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"State": "CANCELLED by 1002"}, {"state": "CANCELLED"}),
        ({"State": "OUT_OF_ME+"}, {"state": "OUT_OF_MEMORY"}),
        ({"State": "CANCELLED+"}, {"state": "CANCELLED"}),
        ({"State": "NOT_SEEN_YET"}, {"state": "NOT_SEEN_YET"}),
        ({"State": "RUNNING", "End": "Unknown"}, {"state": "RUNNING", "end_time": None}),
        (
            {"State": "PENDING", "Start": "2030-01-01T00:00:00", "End": "Unknown"},  # an estimate
            {"start_time": None, "alloc_cores": None},
        ),
        (
            {"State": "PENDING", "Start": "Unknown", "End": "Unknown"},
            {"start_time": None, "alloc_cores": None, "cpu_s": None},
        ),
        (
            {"State": "CANCELLED by 7", "Start": "None", "ElapsedRaw": "0"},
            {"start_time": None, "alloc_mem_bytes": None},
        ),
        ({"State": "FAILED", "End": "Unknown", "ElapsedRaw": "60"}, {"end_time": utc("2026-05-05T08:01:00")}),
        ({"Start": "1777968000", "End": "1777971600"}, {"start_time": utc("2026-05-05T08:00:00")}),
        (
            {"Start": "2026-05-05T10:00:00+0200", "End": "2026-05-05T09:00:00Z"},
            {"start_time": utc("2026-05-05T08:00:00")},
        ),
        ({"AllocTRES": "cpu=2,mem=1.50G"}, {"alloc_cores": 2, "alloc_mem_bytes": 1610612736}),
        (
            {"AllocTRES": "", "ReqMem": "2147486448Mn"},
            {"alloc_cores": 4, "alloc_mem_bytes": 4 * 2800 * 2**20},
        ),
        (
            {"AllocTRES": "cpu=4,mem=8000M", "ReqMem": "0n"},
            {"alloc_mem_bytes": 8000 * 2**20, "req_mem_bytes": None},
        ),
        ({"AllocTRES": "gres/gpu:a100=2,gres/gpu=2"}, {"alloc_gpus": 2, "alloc_gres": "gpu:a100=2"}),
        (
            {"JobID": "800_[5-10%2]", "JobIDRaw": "800", "State": "PENDING", "Start": "Unknown"},
            {"array_tasks": 6, "array_job_id": "800"},
        ),
        (
            {"JobID": "800_5", "JobIDRaw": "812"},
            {"array_task_id": 5, "array_job_id": "800", "job_id_raw": "812"},
        ),
        ({"JobID": "700+1", "JobIDRaw": "701"}, {"het_job_id": "700", "het_offset": 1, "job_id_raw": "701"}),
        ({"NodeList": "None assigned"}, {"node_list": None}),
        ({"DBIndex": "16466999372182534144"}, {"db_index": "16466999372182534144"}),
        ({"JobName": ""}, {"job_name": None}),
        ({"JobName": "a'; DROP TABLE job;--"}, {"job_name": "a'; DROP TABLE job;--"}),
        ({"JobName": "\u202egnp.exe\x07"}, {"job_name": "\u202egnp.exe\x07"}),
        ({"JobName": '"half a quote'}, {"job_name": '"half a quote'}),
        ({"JobName": "x" * 10_000}, {"job_name": "x" * 10_000}),
    ],
)
def test_one_attempt(file: Path, given: dict[str, str], expected: dict[str, Any]) -> None:
    found = read(file, dump(job("900", **given)))
    assert len(found["job_record"]) == 1, found["reject_record"]
    assert {key: found["job_record"][0][key] for key in expected} == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"MaxRSS": "105212K"}, {"max_rss_bytes": 107737088}),
        ({"MaxRSS": "0"}, {"max_rss_bytes": None}),  # nothing was sampled: not measured
        ({"MaxRSS": ""}, {"max_rss_bytes": None, "rss_bytes": None}),
        (
            {"TRESUsageInTot": "cpu=00:12:03,energy=0,fs/disk=12,mem=15200000K"},
            {"rss_bytes": 15564800000, "read_bytes": 12},
        ),
        ({"TotalCPU": "02:03.500"}, {"cpu_s": 123.5}),
        ({"JobID": "900_1.batch"}, {"job_id_raw": "900", "step_id": "batch"}),
    ],
)
def test_one_step(file: Path, given: dict[str, str], expected: dict[str, Any]) -> None:
    found = read(file, dump(job("900"), step("900", **given)))
    assert {key: found["step_record"][0][key] for key in expected} == expected
    assert found["step_record"][0]["submit"] == utc("2026-05-05T07:00:00")


@pytest.mark.parametrize("delimiter", ["|", "\x1f", "\t", ";", ",", "^", "~!", "\x1e\x1f", r"$\x1f"])
@pytest.mark.parametrize("trailing", [False, True])
def test_any_delimiter_and_column_order(file: Path, delimiter: str, trailing: bool) -> None:
    fields = [f for f in sorted(FIELDS, reverse=True) if delimiter != "," or "TRES" not in f] + (
        [""] if trailing else []
    )
    found = read(file, dump(job("900", JobName="name"), step("900"), fields=fields, delimiter=delimiter))
    assert [(r["job_name"], r["alloc_cores"]) for r in found["job_record"]] == [("name", 4)]
    assert [r["step_id"] for r in found["step_record"]] == ["batch"]


@pytest.mark.parametrize(
    "name",
    ["a|b", "a|b|c|d|e", "two\nlines", "a\n\nb", "|", "a|\n|b", "ends with\n", "1|2\n3|4", "x\n" * 20],
)
@pytest.mark.parametrize("place", ["first free", "last"])
def test_free_text_that_holds_delimiters_and_line_feeds_is_recovered(file: Path, name: str, place: str) -> None:
    fields = FIELDS if place == "last" else ["JobID", "JobIDRaw", "JobName", *FIELDS[2:-1]]
    if place == "last" and name.endswith("\n"):
        name = name.rstrip("\n") + "\nend"
    text = dump(job("900"), job("901", JobName=name), step("901"), job("902"), fields=fields)
    found = read(file, text)
    assert [(r["job_id"], r["job_name"]) for r in found["job_record"]] == [
        ("900", "train"),
        ("901", name),
        ("902", "train"),
    ]
    assert found["reject_record"] == []
    assert len(found["step_record"]) == 1


def test_a_record_forged_inside_a_name_stays_part_of_the_name(file: Path) -> None:
    fields = ["JobID", "JobIDRaw", "JobName", *FIELDS[2:-1]]
    forged = dump(job("666"), fields=fields, header=False).rstrip("\n")
    found = read(file, dump(job("900", JobName=f"evil\n{forged}\nx"), job("901"), fields=fields))
    assert [r["job_id"] for r in found["job_record"]] == ["900", "901"]


def test_what_no_reading_fits_is_rejected_by_name_and_nothing_else_is(file: Path) -> None:
    text = dump(job("900")) + "903|903|alpha|\n" + "no record at all\n" + dump(job("904"), header=False)
    found = read(file, text)
    assert [r["job_id"] for r in found["job_record"]] == ["900", "904"]
    assert [(r["line"], r["text"]) for r in found["reject_record"]] == [
        (3, "903|903|alpha|"),
        (4, "no record at all"),
    ]
    assert all(r["reason"] for r in found["reject_record"])


BROKEN = [
    job("2", State=""),
    job("x2"),
    job("2", State="CANCELLED by john doe"),
    job("2", Account="a|b"),
    job("2", JobName="a|b", ReqMem="4,5G"),
    job("2", JobName="a|b", NodeList="n1 n2"),
]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("fields", [FIELDS, ["JobID", "JobIDRaw", "JobName", *FIELDS[2:-1]]])
def test_a_broken_record_is_a_reject_and_no_part_of_its_neighbours(
    file: Path, broken: dict[str, str], fields: list[str]
) -> None:
    found = read(file, dump(job("1"), broken, job("3"), fields=fields))
    assert [(r["job_id"], r["job_name"]) for r in found["job_record"]] == [("1", "train"), ("3", "train")]
    assert [r["line"] for r in found["reject_record"]] == [3]


@pytest.mark.parametrize("length", [3, 9, 12, 40, 90])
def test_a_dump_cut_in_mid_record_loses_that_record_only(file: Path, length: int) -> None:
    text = dump(job("1"), job("2"))
    found = read(file, text[: text.rindex("2|2|alpha") + length])
    assert [(r["job_id"], r["job_name"]) for r in found["job_record"]] == [("1", "train")]
    assert [r["line"] for r in found["reject_record"]] == [3]


OTHER_ORDER = [*FIELDS[:7], "Start", "Submit", *FIELDS[9:]]


@pytest.mark.parametrize(
    "second",
    [
        dump(job("2"), fields=OTHER_ORDER),
        dump(job("2"), fields=[*FIELDS, "QOS"]),
        dump(job("2"), fields=FIELDS[:-1]),
        dump(job("2"), delimiter="\x1f"),
        dump(job("2")),
    ],
)
def test_dumps_put_together_each_under_its_own_header(file: Path, second: str) -> None:
    found = read(file, dump(job("1", JobName="a\nb")) + second + dump(job("3")))
    assert [r["job_id"] for r in found["job_record"]] == ["1", "2", "3"]
    assert {(r["submit"], r["start_time"]) for r in found["job_record"]} == {
        (utc("2026-05-05T07:00:00"), utc("2026-05-05T08:00:00"))
    }
    assert found["reject_record"] == []


def test_the_columns_asked_of_a_site_tell_where_every_free_text_ends(file: Path) -> None:
    odd = job("1", JobName="a\x1fb\n1\x1f", AdminComment="\x1fc\n\x1f", ExitCode="0:0", Suspended="00:00:00")
    found = read(file, dump(odd, job("2", ExitCode="0:0"), fields=SITE_FIELDS, delimiter="\x1f"))
    assert [r["job_name"] for r in found["job_record"]] == ["a\x1fb\n1\x1f", "train"]


@pytest.mark.parametrize(
    "header", ["JobID|State|Submit", "JobID|Submit|Start|End|State|AllocTRES", "|".join(OTHER_ORDER)]
)
def test_a_header_inside_a_name_is_part_of_the_name(file: Path, header: str) -> None:
    fields = ["JobID", "JobIDRaw", "JobName", *FIELDS[2:-1]]
    name = f"x\n{header}\n1|y"
    found = read(file, dump(job("1"), job("2", JobName=name), job("3"), fields=fields))
    assert [(r["job_id"], r["job_name"]) for r in found["job_record"]] == [("1", "train"), ("2", name), ("3", "train")]


def test_a_dump_of_nothing_but_odd_lines_ends_soon(file: Path) -> None:
    first = ["JobName", *FIELDS[:-1]]
    text = (
        dump(*(job(str(i), JobName="a\nb" + "|" * 50) for i in range(400)), fields=first)
        + "x\n" * 20_000
        + "\n" * 20_000
    )
    found = read(file, text)
    assert len(found["job_record"]) + len(found["reject_record"]) >= 20_400


def test_two_readings_are_one_reject(file: Path) -> None:
    fields = ["JobID", "JobIDRaw", "JobName", "AdminComment", *FIELDS[2:-1]]
    found = read(file, dump(job("900", JobName="a|b", AdminComment="c"), fields=fields))
    assert found["job_record"] == []
    assert len(found["reject_record"]) == 1
    assert "more than one way" in found["reject_record"][0]["reason"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"State": ""}, "not a record"),
        ({"JobID": "not a number"}, "not a record"),
        ({"Submit": "Unknown"}, "no submit time"),
        ({"Start": "yesterday"}, "a time that is none"),
        ({"End": "2026-05-05T07:59:00"}, "ends before it starts"),
    ],
)
def test_a_record_that_says_too_little_is_rejected(file: Path, given: dict[str, str], reason: str) -> None:
    found = read(file, dump(job("900", **given)))
    assert found["job_record"] == []
    assert [reason in r["reason"] for r in found["reject_record"]] == [True]


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "expected"),
    [
        # Clocks in New York showed 01:00 to 02:00 twice on 1 November 2026: first at UTC-4, then at UTC-5.
        ("2026-11-01T01:30:00", "2026-11-01T01:40:00", "600", ("2026-11-01T05:30:00", "2026-11-01T05:40:00")),
        (
            "2026-11-01T01:30:00",
            "2026-11-01T01:40:00",
            "4200",
            ("2026-11-01T05:30:00", "2026-11-01T06:40:00"),
        ),
        (
            "2026-11-01T01:50:00",
            "2026-11-01T01:10:00",
            "1200",
            ("2026-11-01T05:50:00", "2026-11-01T06:10:00"),
        ),
        (
            "2026-11-01T01:30:00",
            "2026-11-01T03:00:00",
            "5400",
            ("2026-11-01T06:30:00", "2026-11-01T08:00:00"),
        ),
        (
            "2026-11-01T01:30:00",
            "2026-11-01T03:00:00",
            "9000",
            ("2026-11-01T05:30:00", "2026-11-01T08:00:00"),
        ),
        (
            "2026-03-08T01:30:00",
            "2026-03-08T03:30:00",
            "3600",
            ("2026-03-08T06:30:00", "2026-03-08T07:30:00"),
        ),
    ],
)
def test_clock_changes(file: Path, start: str, end: str, elapsed: str, expected: tuple[str, str]) -> None:
    text = dump(job("900", Submit="2026-01-01T00:00:00", Start=start, End=end, ElapsedRaw=elapsed))
    (found,) = read(file, text, timezone="America/New_York")["job_record"]
    assert (found["start_time"], found["end_time"]) == tuple(map(utc, expected))


def test_an_hour_that_no_clock_showed_is_rejected(file: Path) -> None:
    found = read(file, dump(job("900", Start="2026-03-08T02:30:00")), timezone="America/New_York")
    assert [r["line"] for r in found["reject_record"]] == [2]


def test_columns_named_for_a_dump_without_header(file: Path) -> None:
    text = dump(job("900"), job("901"), header=False)
    found = read(file, text, columns=tuple(name.lower() for name in FIELDS))
    assert [r["job_id"] for r in found["job_record"]] == ["900", "901"]


def test_windows_line_ends_byte_order_mark_and_bytes_that_are_no_utf8(file: Path) -> None:
    text = (
        dump(job("900", JobName="näme"), job("901", JobName="X"))
        .encode()
        .replace(b"\n", b"\r\n")
        .replace(b"X", b"\xff\xfe")
    )
    found = read(file, b"\xef\xbb\xbf" + text)
    assert [r["job_name"] for r in found["job_record"]] == ["näme", r"\xff\xfe"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("\x00\x01\x02PK", "is binary"),
        ("hello\nworld\n", "no header"),
        ("JobID|JobName|State\n1|a|COMPLETED\n", "columns missing: Submit, Start, End, AllocTRES"),
        (dump(fields=[*FIELDS, "JobName"]), "named twice: jobname"),
    ],
)
def test_what_is_no_dump_is_one_line(file: Path, text: str, says: str) -> None:
    with pytest.raises(EvidenceError, match=says) as caught:
        read(file, text)
    assert "\n" not in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_delimiter_that_the_header_does_not_have(file: Path) -> None:
    with pytest.raises(EvidenceError, match="not separated by"):
        read(file, dump(job("900")), delimiter=",")


def test_a_header_alone_is_no_fault(file: Path) -> None:
    assert read(file, dump()) == {"job_record": [], "step_record": [], "reject_record": []}


def test_rows_of_another_cluster_are_left_out(file: Path) -> None:
    found = read(file, dump(job("900", Cluster="beta"), step("900", Cluster="beta"), job("901", Cluster="")))
    assert [r["job_id"] for r in found["job_record"]] == ["901"]
    assert found["step_record"] == []


def test_blocks_do_not_change_what_is_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["plain", "a|b", "two\nlines", "x\n\ny"]
    text = dump(*(r for i in range(40) for r in (job(str(i), JobName=names[i % 4]), step(str(i)))))
    whole = read(file, text)
    monkeypatch.setattr("audit.evidence.sacct_text._BLOCK_BYTES", 97)
    assert read(file, text) == whole
    assert len(whole["job_record"]) == 40
    assert DEFAULT["JobName"] not in {r["job_name"] for r in whole["job_record"]}
