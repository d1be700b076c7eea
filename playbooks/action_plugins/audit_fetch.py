"""`audit_fetch`: copies one file from the node (`src`) to the appliance (`dest`), as who logged in.

Unlike `ansible.builtin.fetch` it runs no module on the node, so any Python there will do. The file is binary and
goes over the connection's own transfer (sftp, scp); a cut leaves only `dest` with the ending `.part`.
"""

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Fetches, then names the file right."""

    _requires_connection = True

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """The result Ansible shows: never changed, for the node is not."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        dest = Path(self._task.args["dest"])
        dest.parent.mkdir(parents=True, exist_ok=True)
        part = dest.with_name(dest.name + ".part")
        self._connection.fetch_file(self._task.args["src"], str(part))
        part.replace(dest)
        return {**result, "changed": False}
