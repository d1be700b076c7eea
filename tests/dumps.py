"""Writes the smallest dumps that show a form, reads them through the product, answers rows as dictionaries."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from audit.evidence import READERS, Context, recognised
from audit.store import FileResult, Options, ingest, open_store
from audit.workspace import Workspace, config_text, create_workspace

FIELDS = [
    "JobID",
    "JobIDRaw",
    "Cluster",
    "DBIndex",
    "User",
    "Account",
    "Partition",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "State",
    "NNodes",
    "NTasks",
    "AllocCPUS",
    "ReqMem",
    "AllocTRES",
    "NodeList",
    "TotalCPU",
    "MaxRSS",
    "TRESUsageInTot",
    "JobName",
]
DEFAULT = {
    "Cluster": "alpha",
    "User": "u1",
    "Account": "a1",
    "Partition": "batch",
    "Submit": "2026-05-05T07:00:00",
    "Start": "2026-05-05T08:00:00",
    "End": "2026-05-05T09:00:00",
    "ElapsedRaw": "3600",
    "State": "COMPLETED",
    "NNodes": "1",
    "AllocCPUS": "4",
    "ReqMem": "8G",
    "AllocTRES": "billing=4,cpu=4,mem=8G,node=1",
    "NodeList": "n1",
    "JobName": "train",
}
STEP = {
    "User": "",
    "Account": "",
    "Partition": "",
    "ReqMem": "",
    "Submit": "2026-05-05T08:00:00",
    "NTasks": "1",
}


def job(job_id: str, **fields: str) -> dict[str, str]:
    return {**DEFAULT, "JobID": job_id, "JobIDRaw": job_id, **fields}


def step(job_id: str, step_id: str = "batch", **fields: str) -> dict[str, str]:
    return {
        **DEFAULT,
        **STEP,
        "JobID": f"{job_id}.{step_id}",
        "JobIDRaw": f"{job_id}.{step_id}",
        "JobName": step_id,
        **fields,
    }


def dump(*records: dict[str, str], fields: list[str] = FIELDS, delimiter: str = "|", header: bool = True) -> str:
    lines = [delimiter.join(fields)] if header else []
    return "".join(f"{line}\n" for line in [*lines, *(delimiter.join(r.get(f, "") for f in fields) for r in records)])


def read(
    path: Path,
    text: str | bytes,
    *,
    cluster: str = "alpha",
    timezone: str = "UTC",
    columns: tuple[str, ...] = (),
    delimiter: str = "",
) -> dict[str, list[dict[str, Any]]]:
    """What the reader of a file with this text yields, by table."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found: dict[str, list[dict[str, Any]]] = {"job_record": [], "step_record": [], "reject_record": []}
    for batch in READERS[recognised(path)](path, Context(cluster, timezone, columns, delimiter)):
        for table, frame in batch.rows.items():
            found.setdefault(table, []).extend(frame.to_dicts())
    return found


def workspace(root: Path, *, timezone: str = "UTC", **more: Any) -> Workspace:
    return create_workspace(root, config_text(cluster="alpha", timezone=timezone, **more))


def take(space: Workspace, *texts: str | bytes, options: Options | None = None) -> list[FileResult]:
    """Ingests files with these texts, in this order."""
    folder = space.root / "given"
    folder.mkdir(exist_ok=True)
    names = []
    for text in texts:
        path = folder / f"dump-{len(list(folder.iterdir()))}.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        names.append(str(path))
    return list(ingest(space, names, options=options))


def rows(space: Workspace, table: str, *columns: str) -> list[dict[str, Any]]:
    """The rows of one of the store's tables or views, in order."""
    with open_store(space) as store:
        chosen = ", ".join(columns) or "*"
        cursor = store.connection.execute(f"SELECT {chosen} FROM {table} ORDER BY ALL")
        names = [c[0] for c in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).replace(tzinfo=None)


def texts(*values: str | None) -> pl.Series:
    return pl.Series(values, dtype=pl.String)
