"""Slurm's own utilization report: whose banner names the span, and whose seconds stand beside ours."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from audit.evidence import EvidenceError, recognised
from audit.site import sreport_command
from tests.dumps import read, rows, take, workspace

DASHES = "-" * 80
HEADER = "Cluster|TRES Name|Allocated|Down|PLND Down|Idle|Planned|Reported"
CPU = "alpha|cpu|129600|3600|0|40000|0|173200"


def report(
    *lines: str,
    first: str = "2026-05-01T00:00:00",
    last: str = "2026-05-01T23:59:59",
    unit: str = "TRES Seconds",
    header: str = HEADER,
) -> str:
    banner = [DASHES, f"Cluster Utilization {first} - {last}", f"Usage reported in {unit}", DASHES]
    return "\n".join([*banner, header, *lines]) + "\n"


@pytest.mark.parametrize(
    ("first", "last", "timezone", "begins"),
    [
        ("2026-05-01T00:00:00", "2026-05-01T23:59:59", "UTC", "2026-05-01T00:00:00"),
        ("2026-05-01T00:00:00", "2026-05-01T23:59:59", "Europe/Berlin", "2026-04-30T22:00:00"),
        ("2026-05-01T00:00:00+0530", "2026-05-01T23:59:59+0530", "Europe/Berlin", "2026-04-30T18:30:00"),
        ("1777593600", "1777679999", "Europe/Berlin", "2026-05-01T00:00:00"),
    ],
    ids=["UTC", "the site's own time", "an offset", "epoch seconds"],
)
def test_the_span_is_the_banners_whose_end_is_its_last_second(
    tmp_path: Path, first: str, last: str, timezone: str, begins: str
) -> None:
    found = read(tmp_path / "u", report(CPU, first=first, last=last), timezone=timezone)["sreport_record"]
    start = datetime.fromisoformat(begins)
    assert [(row["from_time"], row["to_time"]) for row in found] == [(start, start + timedelta(days=1))]


def test_each_tres_is_a_row_in_seconds_and_memory_in_mib_seconds(tmp_path: Path) -> None:
    found = read(tmp_path / "u", report(CPU, "alpha|mem|1024|0|0|0|0|1024", "alpha|gres/gpu:A100|7|0|0|1|2|10"))
    told = [(row["tres"], row["allocated_s"], row["down_s"], row["reserved_s"]) for row in found["sreport_record"]]
    assert told == [("cpu", 129600, 3600, 0), ("mem", 1024, 0, 0), ("gres/gpu:a100", 7, 0, 2)]
    assert found["reject_record"] == []


def test_reserved_is_the_older_name_of_planned(tmp_path: Path) -> None:
    text = report("alpha|cpu|1|2|3|4|5|15", header=HEADER.replace("Planned", "Reserved"))
    assert read(tmp_path / "u", text)["sreport_record"][0]["reserved_s"] == 5


def test_several_reports_in_one_file_each_have_their_span(tmp_path: Path) -> None:
    second = report(CPU, first="2026-05-02T00:00:00", last="2026-05-02T23:59:59")
    found = read(tmp_path / "u", report(CPU) + second)["sreport_record"]
    assert [row["from_time"].day for row in found] == [1, 2]


def test_rows_of_another_cluster_are_counted_and_left_out(tmp_path: Path) -> None:
    (result,) = take(workspace(tmp_path), report(CPU, CPU.replace("alpha", "beta")))
    assert (result.kind, result.other_cluster, result.other_name, result.error) == (
        "sreport utilization",
        1,
        "beta",
        "",
    )


@pytest.mark.parametrize(
    "line",
    [
        "alpha|cpu|many|0|0|0|0|0",
        "alpha|cpu|1",
        "alpha||1|0|0|0|0|1",
        "alpha|cpu|1(0.5%)|0|0|0|0|1",
        "alpha|cpu|99999999999999999999|0|0|0|0|1",
        "alpha|cpu|-5|0|0|0|0|1",
    ],
)
def test_what_is_no_row_is_rejected_and_the_others_stand(tmp_path: Path, line: str) -> None:
    found = read(tmp_path / "u", report(line, CPU))
    assert [row["text"] for row in found["reject_record"]] == [line]
    assert len(found["sreport_record"]) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (report(CPU, unit="TRES Minutes"), "Minutes"),
        (report(CPU, unit="Percentage of Total"), "Percentage"),
        (report("alpha|cpu|1", header="Cluster|TRES Name|Idle"), "allocated"),
    ],
)
def test_another_unit_or_a_missing_column_is_an_error_with_the_command(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(EvidenceError, match=said) as caught:
        read(tmp_path / "u", text)
    assert "sreport" in caught.value.remedy


def test_it_is_known_by_its_banner(tmp_path: Path) -> None:
    (tmp_path / "u").write_text(report(CPU))
    assert recognised(tmp_path / "u") == "sreport utilization"


def test_it_goes_into_the_store(tmp_path: Path) -> None:
    space = workspace(tmp_path)
    (result,) = take(space, report(CPU))
    assert result.error == ""
    assert rows(space, "sreport_record", "tres", "allocated_s") == [{"tres": "cpu", "allocated_s": 129600}]


def test_the_command_asks_for_seconds_and_epoch_times() -> None:
    command = sreport_command("2026-05-01", "2026-05-02")
    assert command.startswith("TZ=UTC SLURM_TIME_FORMAT=%s sreport -P -t Seconds ")
    assert command.endswith("start=2026-05-01 end=2026-05-02")
