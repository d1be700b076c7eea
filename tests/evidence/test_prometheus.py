"""Captures of GPU exporters: times, nodes and cards as they name them; blanks and missing series are not measured."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from audit.evidence import READERS, Context, EvidenceError, recognised

EIGHT = datetime(2026, 5, 5, 8)
CARD = 'uuid="11111111-2222-3333-4444-555555555555"'
DCGM = 'gpu="3",UUID="GPU-aaaa",device="nvidia3",modelName="NVIDIA A100",Hostname="n7"'


def read(path: Path, text: str, name: str = "n1__scrape.txt") -> dict[str, list[dict[str, Any]]]:
    file = path / name
    file.write_text(text)
    assert recognised(file) == "Prometheus text"
    found: dict[str, list[dict[str, Any]]] = {}
    for batch in READERS["Prometheus text"](file, Context("alpha", "UTC", name=name)):
        for table, frame in batch.rows.items():
            found.setdefault(table, []).extend(frame.to_dicts())
    return found


def smi(*series: str, labels: str = CARD) -> str:
    return "".join(f"nvidia_smi_{name}{{{labels}}} {value}\n" for name, value in (s.split() for s in series))


def dcgm(*series: str, labels: str = DCGM) -> str:
    return "".join(f"DCGM_FI_{name}{{{labels}}} {value}\n" for name, value in (s.split() for s in series))


def test_a_scrape_of_nvidia_smi_s_exporter(tmp_path: Path) -> None:
    text = "# time: 1777968000\n# HELP nvidia_smi_index index\n" + smi(
        "index 2",
        "utilization_gpu_ratio 0.35",
        "memory_used_bytes 2.0780679168e+10",
        "memory_total_bytes 8.5520809984e+10",
        "power_draw_watts 631.95",
        "clocks_current_sm_clock_hz 1.98e+09",
        "temperature_gpu 59",
        "mig_mode_current 0",
    )
    (row,) = read(tmp_path, text)["sample_gpu"]
    assert (row["node"], row["uuid"]) == ("n1", "GPU-11111111-2222-3333-4444-555555555555")
    assert (row["from_time"], row["index"], row["samples"], row["interval_no"]) == (EIGHT, 2, 1, None)
    assert (row["util_mean"], row["util_max"], row["mem_bytes_max"]) == (35, 35, 20780679168)
    assert (row["power_w_mean"], row["sm_clock_mhz_mean"], row["temperature_c_max"]) == (631.95, 1980, 59)
    assert (row["graphics_active_mean"], row["holder"], row["throttle_bits"]) == (None, None, None)


def test_a_scrape_of_dcgm_s_exporter_names_node_and_job(tmp_path: Path) -> None:
    labels = DCGM + ',hpc_job="4711"'
    text = "# time: 2026-05-05T10:00:00+02:00\n" + dcgm(
        "DEV_GPU_UTIL 40",
        "DEV_FB_USED 1024",
        "PROF_GR_ENGINE_ACTIVE 0.38",
        "PROF_PIPE_TENSOR_ACTIVE 0.1",
        labels=labels,
    )
    (row,) = read(tmp_path, text, "capture.prom")["sample_gpu"]
    assert (row["node"], row["uuid"], row["index"], row["from_time"]) == ("n7", "GPU-aaaa", 3, EIGHT)
    assert (row["util_mean"], row["mem_bytes_max"], row["graphics_active_mean"]) == (40, 2**30, 0.38)
    assert (row["holder"], row["holder_source"]) == ("4711", "exporter")


SENTINELS = ["-1", "2147483632", "2147483634", "9223372036854775792", "9223372036854775794", "140737488355328", "NaN"]


@pytest.mark.parametrize("value", SENTINELS)
def test_a_blank_is_dropped_and_the_card_stays(tmp_path: Path, value: str) -> None:
    text = "# time: 1777968000\n" + dcgm(f"DEV_GPU_UTIL {value}", "DEV_FB_USED 10")
    found = read(tmp_path, text)
    assert [(r["util_mean"], r["mem_bytes_max"]) for r in found["sample_gpu"]] == [(None, 10 * 2**20)]
    assert found["reject_record"] == []


def test_an_instance_has_memory_of_its_own_and_no_utilisation(tmp_path: Path) -> None:
    labels = DCGM + ',GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"'
    text = "# time: 1777968000\n" + dcgm("DEV_FB_USED 100", "PROF_GR_ENGINE_ACTIVE 0.5", labels=labels)
    found = read(tmp_path, text)
    (row,) = found["sample_mig"]
    assert (row["uuid"], row["mig_uuid"], row["gi"], row["mem_bytes_max"]) == ("GPU-aaaa", "GPU-aaaa/7", 7, 100 * 2**20)
    assert found["sample_gpu"] == []


def test_a_card_in_mig_mode_tells_no_utilisation(tmp_path: Path) -> None:
    text = "# time: 1777968000\n" + smi("mig_mode_current 1", "utilization_gpu_ratio 0", "memory_used_bytes 61865984")
    (row,) = read(tmp_path, text)["sample_gpu"]
    assert (row["mig"], row["util_mean"], row["mem_bytes_max"]) == (1, None, 61865984)


TIMES = {
    "each scrape after its comment": "# time: 1777968000\n{}# time: 1777968060\n{}",
    "milliseconds on each line": "{at0}{at1}",
}


@pytest.mark.parametrize("form", TIMES.values(), ids=TIMES)
def test_scrapes_one_after_the_other(tmp_path: Path, form: str) -> None:
    one = smi("utilization_gpu_ratio 0.5")
    timed = {f"at{n}": f"{one.rstrip()} {1777968000000 + 60000 * n}\n" for n in (0, 1)}
    rows = read(tmp_path, form.format(one, one, **timed))["sample_gpu"]
    assert sorted(r["from_time"] for r in rows) == [EIGHT, datetime(2026, 5, 5, 8, 1)]


@pytest.mark.parametrize(
    ("labels", "name", "node"),
    [
        (CARD + ',node="n5"', "x.txt", "n5"),
        (CARD + ',instance="n6.cluster.example:9835"', "x.txt", "n6"),
        (CARD + ',instance="10.0.0.1:9835"', "n8__monday.txt", "n8"),
        (CARD, "gpu-01__x.txt", "gpu-01"),
    ],
)
def test_whose_a_scrape_is(tmp_path: Path, labels: str, name: str, node: str) -> None:
    text = "# time: 1777968000\n" + smi("memory_used_bytes 1", labels=labels)
    assert [r["node"] for r in read(tmp_path, text, name)["sample_gpu"]] == [node]


@pytest.mark.parametrize(
    ("text", "name"), [(smi("index 0"), "n1__a.txt"), ("# time: 1777968000\n" + smi("index 0"), "a.txt")]
)
def test_without_a_time_or_a_node_one_line_says_what_to_do(tmp_path: Path, text: str, name: str) -> None:
    with pytest.raises(EvidenceError) as fault:
        read(tmp_path, text, name)
    assert fault.value.remedy


def test_lines_that_are_none_are_rejects(tmp_path: Path) -> None:
    text = (
        "# time: 1777968000\n"
        + smi("index 0")
        + 'nvidia_smi_index{uuid="x" 1\n'
        + "nvidia_smi_index 3\n"
        + smi("index many")
    )
    assert [r["line"] for r in read(tmp_path, text)["reject_record"]] == [3, 4, 5]


def test_an_exemplar_and_braces_in_labels_are_no_value(tmp_path: Path) -> None:
    labels = '{gpu="0",UUID="GPU-a",modelName="a}\\"b",Hostname="n1"}'
    lines = f'DCGM_FI_DEV_GPU_UTIL{labels} 5 1777968000000 # {{trace_id="x"}} 0.67\n'
    (row,) = read(tmp_path, lines + f"DCGM_FI_DEV_FB_USED{labels} 1e300 1777968000000\n")["sample_gpu"]
    assert (row["util_mean"], row["mem_bytes_max"]) == (5, None)
