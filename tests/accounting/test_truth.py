"""A generated month against its truth: held hours, cost, buckets and the ceiling of what could be won back, exact."""

import pytest

from audit.accounting.figures import figures
from audit.sample import ACCELERATORS, generate
from audit.store import Options, ingest, open_store
from audit.workspace import config_text, create_workspace
from tests.accounting.reckoning import RESOURCES, reckon
from tests.sample.dump import Month


@pytest.mark.parametrize("seed", [1, 7])
def test_money_is_exactly_what_the_truth_says(tmp_path, seed):
    made = generate(tmp_path / "evidence", tmp_path / "truth", jobs=6000, gpus=60, days=14, seed=seed)
    text = config_text(
        cluster=made.cluster,
        timezone=made.timezone,
        window_from=made.window_from.isoformat(),
        window_to=made.window_to.isoformat(),
        accelerators=ACCELERATORS,
        generated_sample=True,
    )
    space = create_workspace(tmp_path, text)
    assert not [r.error for r in ingest(space, (), options=Options(generated=True)) if r.error]
    with open_store(space) as store:
        report = figures(store.connection, space)
        prices = dict(store.connection.execute("SELECT node, usd_per_hour FROM node_hours").fetchall())
    true = reckon(Month(tmp_path / "evidence", tmp_path / "truth", made), prices)
    cost, won = report["cost"], report["recoverable"]
    assert won["high_usd"] == pytest.approx(true["recoverable_usd"], rel=1e-7)
    for key in ("held_usd", "lost_usd", "not_measured_usd", "used_usd", "kept_usd"):
        assert cost[key] == pytest.approx(true[key], rel=1e-7), key
    for row in report["recoverable_by_resource"]:
        assert row["usd"] == pytest.approx(true[f"{row['resource']}_recoverable_usd"], rel=1e-7)
    assert {row["resource"] for row in report["recoverable_by_resource"]} <= set(RESOURCES)
    held = report["hours"]["held"]
    for key, name in (("core", "core_hours"), ("gpu", "gpu_hours"), ("mem_gib", "mem_gib_hours")):
        assert held[key] == pytest.approx(true[name], rel=1e-7)
