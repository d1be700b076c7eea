"""Snapshots of `nvidia-smi -q -x`: N/A was not measured, instances have no utilisation, no entity is expanded."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from audit.evidence import READERS, Context, EvidenceError, recognised

HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
MEMORY = "<fb_memory_usage><total>{} MiB</total><reserved>400 MiB</reserved><used>{} MiB</used></fb_memory_usage>"


def card(uuid: str = "GPU-a", util: str = "65 %", used: str = "9184", more: str = "") -> str:
    return (
        f'<gpu id="00000000:01:00.0"><uuid>{uuid}</uuid><minor_number>1</minor_number>'
        f"{MEMORY.format(10240, used)}<utilization><gpu_util>{util}</gpu_util></utilization>{more}</gpu>"
    )


def log(*cards: str, time: str = "Fri Jul  3 10:23:01 2026", head: str = HEAD) -> str:
    return f"{head}<nvidia_smi_log>\n<timestamp>{time}</timestamp>{''.join(cards)}</nvidia_smi_log>\n"


def read(path: Path, text: str, name: str = "n1__a.xml", timezone: str = "UTC") -> dict[str, list[dict[str, Any]]]:
    file = path / name
    file.write_text(text)
    assert recognised(file) == "nvidia-smi XML"
    found: dict[str, list[dict[str, Any]]] = {"sample_gpu": [], "sample_mig": [], "reject_record": []}
    for batch in READERS["nvidia-smi XML"](file, Context("alpha", timezone, name=name)):
        for table, frame in batch.rows.items():
            found.setdefault(table, []).extend(frame.to_dicts())
    return found


def test_a_card_with_its_time_in_the_site_s_zone(tmp_path: Path) -> None:
    more = (
        "<mig_mode><current_mig>Disabled</current_mig></mig_mode><temperature><gpu_temp>27 C</gpu_temp></temperature>"
        "<gpu_power_readings><average_power_draw>139.62 W</average_power_draw></gpu_power_readings>"
        "<clocks><sm_clock>1950 MHz</sm_clock></clocks><clocks_event_reasons>"
        "<clocks_event_reason_hw_thermal_slowdown>Active</clocks_event_reason_hw_thermal_slowdown>"
        "<clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle></clocks_event_reasons>"
        "<ecc_errors><aggregate><sram_uncorrectable>2</sram_uncorrectable><dram_uncorrectable>3</dram_uncorrectable>"
        "<dram_correctable>7</dram_correctable></aggregate></ecc_errors>"
    )
    (row,) = read(tmp_path, log(card(more=more)), timezone="Europe/Berlin")["sample_gpu"]
    assert (row["node"], row["uuid"], row["minor"]) == ("n1", "GPU-a", 1)
    assert row["from_time"] == datetime(2026, 7, 3, 8, 23, 1)
    assert (row["util_mean"], row["mem_bytes_max"], row["mem_total_bytes"]) == (65, 9184 * 2**20, 10 * 2**30)
    assert (row["power_w_mean"], row["sm_clock_mhz_mean"], row["temperature_c_max"]) == (139.62, 1950, 27)
    assert (row["throttle_bits"], row["ecc_uncorrected"], row["ecc_corrected"], row["mig"]) == (65, 5, 7, 0)


def test_what_the_driver_cannot_tell_was_not_measured(tmp_path: Path) -> None:
    power = "<power_readings><power_draw>[Not Supported]</power_draw></power_readings>"
    (row,) = read(tmp_path, log(card(util="N/A", more=power)))["sample_gpu"]
    assert (row["util_mean"], row["power_w_mean"], row["temperature_c_max"]) == (None, None, None)


def test_instances_have_memory_and_the_card_no_utilisation(tmp_path: Path) -> None:
    device = (
        "<mig_mode><current_mig>Enabled</current_mig></mig_mode><mig_devices><mig_device><index>0</index>"
        "<gpu_instance_id>3</gpu_instance_id><compute_instance_id>0</compute_instance_id>"
        f"{MEMORY.format(19968, 12)}</mig_device></mig_devices>"
    )
    found = read(tmp_path, log(card(util="0 %", more=device)))
    assert [(r["mig"], r["util_mean"]) for r in found["sample_gpu"]] == [(1, None)]
    assert [(r["mig_uuid"], r["gi"], r["mem_bytes_max"]) for r in found["sample_mig"]] == [("GPU-a/3/0", 3, 12 * 2**20)]


def test_snapshots_one_after_the_other(tmp_path: Path) -> None:
    text = "".join(log(card(), card("GPU-b"), time=f"Fri Jul  3 10:2{n}:01 2026") for n in range(3))
    assert [r["from_time"].minute for r in read(tmp_path, text)["sample_gpu"]] == [20, 20, 21, 21, 22, 22]


BAD = {
    "cut short": log(card())[:-20],
    "an entity": log(card(), head='<?xml version="1.0"?>\n<!DOCTYPE l [<!ENTITY a "aaaa">]>\n'),
    "an external entity": log(
        card(), head='<?xml version="1.0"?>\n<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n'
    ),
    "nested": log("<gpu>" * 100 + "</gpu>" * 100),
    "no time": log(card(), time="N/A"),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_bad_snapshot_is_a_reject_and_the_next_counts(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text + "\n" + log(card()))
    assert (len(found["sample_gpu"]), [r["line"] for r in found["reject_record"]]) == (1, [1])


def test_a_file_that_no_node_is_named_in_says_how_to_name_it(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError) as fault:
        read(tmp_path, log(card()), name="nvidia-smi.xml")
    assert "NODE__" in fault.value.remedy
