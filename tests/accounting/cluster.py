"""A small cluster written by hand into the relations that the store gives this room."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from audit.accounting import figures
from audit.workspace import QUANTILES, Config, Policy, Prices, Workspace

GIB = 2**30
DAY = datetime(2026, 5, 4)

_RELATIONS = (Path(__file__).parent / "relations.sql").read_text(encoding="utf-8")


def at(hour: float) -> datetime:
    """So many hours after the first day's midnight."""
    return DAY + timedelta(hours=hour)


@dataclass
class Cluster:
    """Rows to be written, and the settings to read them with. Hours count from 2026-05-04T00:00Z."""

    window: tuple[float, float] = (0, 10)
    prices: Prices = field(default_factory=Prices)
    policy: Policy = field(default_factory=Policy)
    slice_nodes: tuple[str, ...] = ()
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, relation: str, **values: Any) -> None:
        self.rows.setdefault(relation, []).append({"cluster": "lab", **values})

    def node(self, name: str, cores: float = 10, mem_gib: float = 100, gpus: float = 0, **values: Any) -> None:
        gres = values.pop("gres", f"gpu:t4={gpus:g}" if gpus else "")
        self.add("node", node=name, cores=cores, mem_bytes=int(mem_gib * GIB), gpus=gpus, gres=gres, **values)

    def job(
        self,
        job_id: str,
        start: float,
        end: float | None,
        *,
        nodes: str = "n1",
        cores: float | None = 1,
        mem_gib: float | None = 1,
        gpus: float | None = 0,
        state: str = "COMPLETED",
        spans: list[dict[str, Any]] | None = None,
        **values: Any,
    ) -> None:
        """An attempt with one span, or with `spans`; `values` override columns of job or span."""
        names = nodes.split(",") if nodes else []
        for name in names:
            if {"node_list": nodes, "node": name} not in self.rows.setdefault("host_list", []):
                self.rows["host_list"].append({"node_list": nodes, "node": name})
        key = {"job_id_raw": job_id, "submit": values.pop("submit", at(start))}
        mem = None if mem_gib is None else int(mem_gib * GIB)
        gres = values.pop("gres", f"gpu:t4={gpus:g}" if gpus else "")
        partition = values.pop("partition", "main")
        span = {
            "node_list": nodes or None,
            "node_count": len(names) or None,
            "cores": cores,
            "mem_bytes": mem,
        }
        span |= {
            "gpus": gpus,
            "gres": gres,
            "partition": partition,
            "exclusive": values.pop("exclusive", False),
        }
        span["shards"] = values.pop("shards", 0)
        for part in spans or [{"from_time": at(start), "to_time": None if end is None else at(end)}]:
            self.add("span", **key, **{**span, **part})
        elapsed = None if end is None else (end - start) * 3600
        job = {"job_id": job_id, "partition": partition, "state": state, "start_time": at(start)}
        job |= {"end_time": None if end is None else at(end), "elapsed_s": elapsed, "node_count": len(names)}
        self.add("job", **key, **{**job, **values})

    def step(self, job_id: str, step_id: str, start: float, end: float, *, submit: float = 0, **values: Any) -> None:
        times = {"start_time": at(start), "end_time": at(end), "elapsed_s": (end - start) * 3600}
        self.add("step", job_id_raw=job_id, submit=at(submit), step_id=step_id, **{**times, **values})

    def hold_gpus(self, job_id: str, start: float, gpu_index: str, node: str = "n1") -> None:
        """The controller's word on which of a node's GPUs, by number, a job that started then holds."""
        seen = {"at_time": at(start + 0.01), "start_time": at(start), "gres": "gpu:t4"}
        self.add("allocation_seen", node=node, job_id=job_id, gpu_index=gpu_index, **seen)

    def advise(
        self, job_id: str, *, submit: float = 0, quantiles: tuple[float, ...] = QUANTILES, **values: Any
    ) -> None:
        """What the model replayed would have advised an attempt, the same at each of the quantiles."""
        told = {"abstained": False, **values}
        for quantile in quantiles:
            self.add("replay", job_id_raw=job_id, submit=at(submit), quantile=quantile, **told)

    @cached_property
    def root(self) -> Path:
        """The engagement's folder, with the replay in it where there is one."""
        if "replay" not in self.rows:
            return Path()
        self._folder = TemporaryDirectory(prefix="a[1]-")  # read as a name, not as a pattern
        path = Path(self._folder.name) / "models" / "replay.parquet"
        path.parent.mkdir()
        self.connect().execute("COPY replay TO $path (FORMAT parquet)", {"path": str(path)})
        return Path(self._folder.name)

    def connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute(_RELATIONS)
        rows = dict(self.rows)
        rows["window_bounds"] = [{"from_time": at(self.window[0]), "to_time": at(self.window[1]), "is_default": False}]
        names = self.slice_nodes or {r["node"] for kind in ("node", "host_list") for r in rows.get(kind, [])}
        rows["slice_node"] = [{"cluster": "lab", "node": name} for name in sorted(names)]
        for name, values in rows.items():
            known = {c[0] for c in connection.execute(f"DESCRIBE {name}").fetchall()}
            for value in values:
                used = {k: v for k, v in value.items() if k in known}
                places = ", ".join("?" * len(used))
                connection.execute(f"INSERT INTO {name} ({', '.join(used)}) VALUES ({places})", list(used.values()))
        return connection

    def workspace(self) -> Workspace:
        config = Config(
            cluster="lab",
            timezone="UTC",
            window_from=at(self.window[0]).replace(tzinfo=UTC),
            window_to=at(self.window[1]).replace(tzinfo=UTC),
            slice_nodes=",".join(self.slice_nodes),
            prices=self.prices,
            policy=self.policy,
        )
        return Workspace(self.root, config)

    @cached_property
    def made(self) -> tuple[duckdb.DuckDBPyConnection, dict[str, Any]]:
        """The relations with every figure made of them, once: add rows before asking."""
        connection = self.connect()
        return connection, figures(connection, self.workspace())

    def report(self) -> dict[str, Any]:
        return self.made[1]

    def relation(self, name: str, order: str = "ALL") -> list[dict[str, Any]]:
        """The rows of one relation after all figures were made."""
        result = self.made[0].execute(f"SELECT * FROM {name} ORDER BY {order}")
        names = [c[0] for c in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
