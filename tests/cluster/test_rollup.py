"""Hours held, beside Slurm's own roll-up of them, on a real cluster. The roll-up comes once an hour: this waits for it."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit.site import SITE_FIELDS, sacct_command, sreport_command
from tests.cluster.cluster import Cluster
from tests.cluster.engagement import engagement

HOUR_S = 3600
LATEST_S = 600  # after the hour


@pytest.mark.skipif("AUDIT_ROLLUP" not in os.environ, reason="waits up to an hour for Slurm's roll-up: `make rollup`")
def test_held_hours_agree_with_slurms_roll_up(cluster: Cluster, tmp_path: Path) -> None:
    if HOUR_S - time.time() % HOUR_S < 120:
        time.sleep(HOUR_S - time.time() % HOUR_S + 5)  # what follows has to end within one hour
    from_s = int(time.time() // HOUR_S) * HOUR_S
    first, last = (f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%dT%H:%M:%S}" for at_s in (from_s, from_s + HOUR_S))
    jobs = [
        cluster.submit("alice", "--cpus-per-task=4", "--mem=1G", script="sleep 40"),
        cluster.submit("bob", "--gres=gpu:a100:2", "--mem=500M", script="sleep 30"),
        cluster.submit("alice", "--nodes=2", "--mem=200M", script="sleep 20"),
    ]
    cluster.wait(jobs, timeout_s=100)

    def asked(command: str) -> str:
        return cluster.run(cluster.controller, ["bash", "-c", command]).stdout

    rolled_up = ""
    while "|cpu|" not in rolled_up or "|cpu|0|" in rolled_up:
        assert time.time() < from_s + HOUR_S + LATEST_S, f"Slurm rolled nothing up:\n{rolled_up}"
        time.sleep(max(20.0, min(300.0, from_s + HOUR_S - time.time())))
        rolled_up = asked(sreport_command(first, last))

    at = engagement(cluster, tmp_path / "rollup")
    said = (at.root / "audit.toml").read_text()
    (at.root / "audit.toml").write_text(f'{said}\n[window]\nfrom = "{first}Z"\nto = "{last}Z"\n')
    known = asked("sacct --helpformat").split()
    sacct = f"TZ=UTC {sacct_command(first, last)}".replace(
        ",".join(SITE_FIELDS), ",".join(name for name in SITE_FIELDS if name in known)
    )
    dumps = {
        "sacct.txt": asked(sacct),
        "nodes.txt": asked("SLURM_TIME_FORMAT=%s scontrol show node -o"),
        "sreport.txt": rolled_up,
    }
    for name, text in dumps.items():
        (tmp_path / name).write_text(text)
    ingested = at.audit("ingest", *(str(tmp_path / name) for name in dumps))
    assert ingested.status == 0, ingested.err
    report = at.audit("report", "--format", "json", "--json").json
    units = {row["unit"]: row for row in report["sreport"]["units"]}
    assert set(units) == {"core-hours", "memory GiB-hours", "GPU-hours"}
    for row in units.values():
        assert row["sreport_hours"] > 0
        assert row["report_hours"] == pytest.approx(row["sreport_hours"], rel=0.001), row
    print(*units.values(), sep="\n")
