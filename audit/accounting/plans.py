"""Advice given in advance: the model's replay over the window, and the plans that the accounting reckons through.

A plan is a quantile of the replay. `expected` is that of the policy; `low` the cautious one, of what telemetry watched
only; each other quantile is a plan of its own, to show how much the choice matters. `high` is hindsight, always there.
"""

import glob

import duckdb

from audit.accounting.relations import sql, table
from audit.errors import AuditError
from audit.store import SCRATCH
from audit.workspace import CAUTIOUS_QUANTILE, QUANTILES, Workspace

_COLUMNS = (
    "cluster VARCHAR",
    "job_id_raw VARCHAR",
    "submit TIMESTAMP",
    "quantile DOUBLE",
    "abstained BOOLEAN",
    "cores DOUBLE",
    "mem_bytes DOUBLE",
    "gpus DOUBLE",
)


def make_plans(connection: duckdb.DuckDBPyConnection, workspace: Workspace) -> None:
    """The relations `plan` and `recommendation`; both empty where no model was replayed.

    Raises AuditError where the replay cannot be read, or was written by something else.
    """
    chosen, path = workspace.config.policy.quantile, workspace.replay
    is_there = path.is_file()
    plans = [("expected", chosen, False), ("low", CAUTIOUS_QUANTILE, True)]
    plans += [(f"{quantile:g}", quantile, False) for quantile in QUANTILES if quantile != chosen]
    columns = ("plan VARCHAR", "quantile DOUBLE", "watched_only BOOLEAN")
    table(connection, "plan", columns, plans if is_there else [])
    if not is_there:
        table(connection, "recommendation", _COLUMNS, [])
        return
    connection.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {SCRATCH}")
    make = f"CREATE OR REPLACE TABLE {SCRATCH}.recommendation AS\n{sql('recommendation')}"
    try:
        connection.execute(make, {"replay": glob.escape(str(path))})
    except duckdb.Error as error:
        raise AuditError(
            f"cannot be read ({str(error).splitlines()[0][:120]})", where=str(path), remedy="run `audit train` again"
        ) from None
    connection.execute(f"CREATE OR REPLACE TEMP VIEW recommendation AS SELECT * FROM {SCRATCH}.recommendation")
