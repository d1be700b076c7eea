"""What the model's back-test said, as `audit train` or `audit backtest` left it among the models."""

import json

from audit.accounting.rows import Row
from audit.errors import AuditError
from audit.workspace import Workspace

SCHEMA = "audit-backtest/1"
_LARGEST_BYTES = 64 << 20  # the users it lists are those with many attempts: it stays far below


def back_test(workspace: Workspace) -> Row | None:
    """The content of `backtest.json`; None where there is none. AuditError where it is not what we write."""
    path = workspace.models / "backtest.json"
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_LARGEST_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or not isinstance(found.get("targets"), list):
        raise AuditError("is no back-test of this version", where=str(path), remedy="run `audit train` again")
    return found
