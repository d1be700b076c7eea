"""The CSV files: read back as a program would, they add up to the report, and no cell is a formula."""

import csv
from pathlib import Path
from typing import Any

import pytest

from audit.reporting.exports import LISTS, csv_files
from audit.reporting.pseudonyms import Pseudonyms, pseudonymise
from audit.workspace import Prices
from tests.accounting.cluster import GIB, Cluster, at

KEY = b"k" * 32
PRICES = Prices(classes={"4xT4": 8.0, "cpu-10c-100GiB": 2.0})
BUCKETS = {
    "x_UsedCost": "used_usd",
    "x_KeptCost": "kept_usd",
    "x_LostCost": "lost_usd",
    "x_NotMeasuredCost": "not_measured_usd",
    "x_RecoverableCost": "recoverable_usd",
}


def two_classes(**settings: Any) -> Cluster:
    """Ten hours of n1 (4 GPUs, $8) and n2 (10 cores, $2): $100 installed."""
    cluster = Cluster(prices=PRICES, **settings)
    cluster.node("n1", cores=8, mem_gib=64, gpus=4)
    cluster.node("n2", cores=10, mem_gib=100)
    cluster.add("node_state", node="n2", from_time=at(8), to_time=at(9), state="DOWN", is_down=True)
    cluster.job("7", 0, 5, nodes="n1", cores=1, gpus=2, user_name="alice", account="lab", job_name="alice-3")
    cluster.job("8", -1, 2, nodes="n2", cores=5, user_name="bob", account="lab", state="FAILED", job_name="x")
    cluster.job("9", 6, 7, nodes="n1,n2", cores=2, mem_gib=2, gpus=0, user_name="bob", account="ops", job_name="y")
    cluster.job("10", 7, 8, nodes="n1", cores=1, mem_gib=32, user_name="bob", account="ops", job_name="y")
    cluster.step("10", "batch", 7, 8, submit=7, tasks=1, rss_bytes=8 * GIB)
    return cluster


def written(cluster: Cluster, folder: Path, users: tuple[str, ...] = ("alice", "bob")) -> tuple[dict[str, Any], dict]:
    """The report as shown, and the rows of each CSV file."""
    connection, report = cluster.made
    names = Pseudonyms(users, KEY)
    shown = pseudonymise(report, names)
    rows = {}
    for name, content in csv_files(shown, connection, names).items():
        if callable(content):
            content(folder / name)
        else:
            (folder / name).write_bytes(content)
        with (folder / name).open(newline="", encoding="utf-8") as file:
            rows[name] = list(csv.DictReader(file))
    return shown, rows


def total(rows: list[dict[str, str]], column: str) -> float:
    return sum(float(row[column]) for row in rows if row[column])


def test_the_lines_of_two_node_classes_by_hand(tmp_path: Path) -> None:
    _, files = written(two_classes(), tmp_path)
    lines = {(row["x_Kind"], row["ResourceId"] or row["SkuId"]): row for row in files["cost.csv"]}
    # n1: half of 4 GPUs for 5 of 10 hours, 1 of 8 cores (1 of 64 GiB is less) for one, half of its memory for one:
    # 8 x (2.5 + 0.125 + 0.5) held
    # n2: half of 10 cores for 2 hours in the window, a tenth for one, an hour down: 2 x (1 + 0.1) held
    priced = {key: (float(row["BilledCost"]), row["PricingQuantity"]) for key, row in lines.items()}
    assert priced == {
        ("attempt", "7"): (20.0, "2.5"),
        ("attempt", "8"): (2.0, "1.0"),
        ("attempt", "9"): (1.2, "0.225"),  # 0.125 hours at $8 and 0.1 at $2: no one price
        ("attempt", "10"): (4.0, "0.5"),
        ("idle", "4xt4"): (55.0, "6.875"),
        ("down", "4xt4"): (0.0, "0.0"),
        ("idle", "cpu-10c-100GiB"): (15.8, "7.9"),
        ("down", "cpu-10c-100GiB"): (2.0, "1.0"),
    }
    first = lines["attempt", "7"]
    alice = Pseudonyms(["alice"], KEY).user("alice")
    assert (first["x_User"], first["x_Family"], first["SubAccountId"]) == (alice, f"{alice}-#", "lab")
    assert (first["ChargePeriodStart"], first["ChargePeriodEnd"]) == ("2026-05-04T00:00:00Z", "2026-05-04T05:00:00Z")
    assert (first["BillingPeriodEnd"], first["x_Submit"]) == ("2026-05-04T10:00:00Z", "2026-05-04T00:00:00Z")
    assert (first["SkuId"], first["ContractedUnitPrice"], first["x_GpuHours"]) == ("4xt4", "8.0", "10.0")
    assert (first["ListCost"], first["ListUnitPrice"]) == ("", "")  # the site states the price: no list price is known
    buckets = {job: [row[column] for column in BUCKETS] for (kind, job), row in lines.items() if kind == "attempt"}
    assert buckets == {  # used, kept, lost, not measured, recoverable
        "7": ["", "", "0.0", "20.0", ""],  # nothing of it was measured
        "8": ["0.0", "0.0", "2.0", "0.0", "0.0"],
        "9": ["", "", "0.0", "1.2", ""],
        "10": ["1.0", "0.0", "0.0", "0.0", "3.0"],  # it needed 8 of 32 GiB, an eighth of the node
    }
    assert (lines["attempt", "9"]["SkuId"], lines["attempt", "9"]["ContractedUnitPrice"]) == ("", "")
    assert lines["idle", "4xt4"]["x_User"] == ""


def test_it_adds_up_to_the_report(tmp_path: Path) -> None:
    report, files = written(two_classes(), tmp_path)
    attempts = [row for row in files["cost.csv"] if row["x_Kind"] == "attempt"]
    cost = report["cost"]
    assert total(files["cost.csv"], "EffectiveCost") == pytest.approx(cost["installed_usd"], abs=1e-5)
    assert total(attempts, "EffectiveCost") == pytest.approx(cost["held_usd"], abs=1e-5)
    told = {**cost, "recoverable_usd": report["recoverable"]["high_usd"]}
    for column, key in BUCKETS.items():
        assert total(attempts, column) == pytest.approx(told[key], abs=1e-5)
    for column, key in {"x_CoreHours": "core", "x_GpuHours": "gpu", "x_MemGiBHours": "mem_gib"}.items():
        assert total(attempts, column) == pytest.approx(report["hours"]["held"][key], abs=1e-5)


def test_down_that_was_not_measured_is_one_line_with_idle(tmp_path: Path) -> None:
    cluster = two_classes()
    cluster.rows.pop("node_state")
    report, files = written(cluster, tmp_path)
    assert {row["x_Kind"] for row in files["cost.csv"]} == {"attempt", "idle or down"}
    assert total(files["cost.csv"], "BilledCost") == pytest.approx(report["cost"]["installed_usd"]) == 100
    assert {row["down_usd"] for row in files["partitions.csv"] if row["attempts"] == "0"} == {""}


def test_without_node_sizes_only_attempts_have_a_line_and_no_unit_price(tmp_path: Path) -> None:
    cluster = two_classes()
    cluster.rows.pop("node")
    report, files = written(cluster, tmp_path)
    assert report["cost"]["mode"] == "unbundled"
    assert {(row["x_Kind"], row["PricingQuantity"], row["SkuId"]) for row in files["cost.csv"]} == {("attempt", "", "")}
    assert total(files["cost.csv"], "ListCost") == pytest.approx(report["cost"]["held_usd"], abs=1e-5)


def test_a_cost_that_cannot_be_known_is_empty(tmp_path: Path) -> None:
    cluster = two_classes()
    cluster.job("11", 1, 2, nodes="", user_name="bob", account="ops", job_name="z")
    _, files = written(cluster, tmp_path)
    (line,) = [row for row in files["cost.csv"] if row["ResourceId"] == "11"]
    assert {line[column] for column in ("BilledCost", "EffectiveCost", "PricingQuantity", *BUCKETS)} == {""}
    assert line["x_CoreHours"] == "1.0"


def test_the_columns_of_focus_come_first_and_ours_begin_with_x(tmp_path: Path) -> None:
    _, files = written(two_classes(), tmp_path)
    columns = list(files["cost.csv"][0])
    ours = [name for name in columns if name.startswith("x_")]
    assert columns[-len(ours) :] == ours
    focus = columns[: -len(ours)]
    assert focus == sorted(focus)
    # What FOCUS 1.0 wants in every row of usage.
    never_empty = """
        BilledCost BillingAccountId BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory ChargeDescription
        ChargeFrequency ChargePeriodEnd ChargePeriodStart ContractedCost EffectiveCost InvoiceIssuerName PricingCategory
        PricingQuantity PricingUnit ProviderName PublisherName ServiceCategory ServiceName
    """.split()
    assert all(row[column] for row in files["cost.csv"] for column in never_empty)
    assert {row["ChargeCategory"] for row in files["cost.csv"]} == {"Usage"}


def test_each_list_is_the_reports_own(tmp_path: Path) -> None:
    report, files = written(two_classes(), tmp_path)
    for name, (key, columns) in LISTS.items():
        assert len(files[name]) == len(report[key])
        assert set(columns) == set(report[key][0])
        for row, told in zip(files[name], report[key], strict=True):
            assert {c: row[c] for c in columns if isinstance(told[c], str)} == {
                c: told[c] for c in columns if isinstance(told[c], str)
            }
            assert {row[c] for c in columns if told[c] is None} <= {""}
            numbers = [c for c in columns if isinstance(told[c], int | float)]
            assert [float(row[c]) for c in numbers] == [told[c] for c in numbers]


def test_families_have_what_advice_would_have_won_and_killed(tmp_path: Path) -> None:
    cluster = two_classes()
    _, files = written(cluster, tmp_path)
    assert {(row["expected_usd"], row["killed"], row["of"], row["slowed"]) for row in files["families.csv"]} == {
        ("",) * 4
    }
    advised = two_classes()
    advised.advise("10", submit=7, mem_bytes=4.0 * GIB)
    _, files = written(advised, tmp_path)
    # 32 of 64 GiB held for an hour, 8 used, 4 advised: killed, and 4 / 64 of 8 dollars to run it again
    (row,) = [row for row in files["families.csv"] if row["killed"] == "1"]
    assert (float(row["expected_usd"]), row["of"], row["slowed"]) == (pytest.approx(-0.5), "1", "0")


def test_an_empty_list_still_has_its_columns(tmp_path: Path) -> None:
    cluster = Cluster(prices=PRICES)
    cluster.node("n2")
    cluster.job("1", 0, 1, nodes="n2", user_name="bob", account="ops", job_name="x")
    written(cluster, tmp_path)
    assert (tmp_path / "lost.csv").read_text().split(",") == [*LISTS["lost.csv"][1], "generated_sample\n"]


HOSTILE = ["=1+1", "+1", "-1", "@sum", "\ttab", "\rcr", 'quo"te', "new\nline", "a,b", "'apostrophe", " space", "ünï"]


def test_no_cell_is_a_formula_and_every_text_comes_back(tmp_path: Path) -> None:
    cluster = Cluster(prices=PRICES)
    cluster.node("n2")
    for number, text in enumerate(HOSTILE):
        cluster.job(
            str(number), 0, 1, nodes="n2", cores=0.5, user_name="bob", account=text, job_name=text, partition=text,
            submit=at(number / 60),
        )  # fmt: skip
    _, files = written(cluster, tmp_path, users=("bob",))
    safe = [f"'{text}" if text[0] in "=+-@\t\r" else text for text in HOSTILE]
    attempts = [row for row in files["cost.csv"] if row["x_Kind"] == "attempt"]
    assert [row["SubAccountId"] for row in attempts] == safe
    assert [row["x_Partition"] for row in attempts] == safe
    assert sorted(row["account"] for row in files["accounts.csv"]) == sorted(safe)
    assert set(safe) <= {row["partition"] for row in files["partitions.csv"]}
    for rows in files.values():
        texts = [text for row in rows for text in row.values() if text and not text.replace(".", "").isdigit()]
        assert [text for text in texts if text[0] in "=+@\t\r"] == []


def test_the_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        written(two_classes(), tmp_path / folder)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name
