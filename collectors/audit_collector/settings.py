"""Reads and checks window.json: what the window is and what the collector may use. Touches only that file."""

import json
import os

ROLES = ("node", "controller")
LARGEST_FILE_BYTES = 1 << 20
# A node's name is part of a file's.
LONGEST_NAME = 200

# name: (type, default or None where it must be there, least, most)
_NUMBERS = {
    "from_s": (float, None, 0, 4e10),
    "to_s": (float, None, 0, 4e10),
    "sample_s": (float, 10, 0.1, 3600),
    "interval_s": (float, 60, 1, 86400),
    "max_disk_bytes": (int, 1 << 30, 1 << 16, 1 << 50),
    "max_rss_bytes": (int, 64 << 20, 1 << 20, 1 << 40),
    "max_cpu_share": (float, 0.05, 0.0001, 64),
    "min_free_disk_bytes": (int, 1 << 30, 0, 1 << 50),
}


class SettingsError(Exception):
    """window.json is missing, not JSON, or says something that cannot be; the text is one line."""


class Settings:
    """What window.json says, checked. Times in epoch seconds, sizes in bytes, intervals in seconds."""

    def __init__(self, table: dict) -> None:
        if table.get("format") != 1:
            raise SettingsError("format is %.100r: this collector reads format 1" % (table.get("format"),))
        self.cluster = _text(table, "cluster")
        self.node = _text(table, "node")
        self.roles = table.get("roles", ["node"])
        if (
            not isinstance(self.roles, list)
            or not self.roles
            or any(self.roles.count(one) > 1 for one in self.roles)
            or any(role not in ROLES for role in self.roles)
        ):
            raise SettingsError("roles is %.100r: a list of %s" % (self.roles, " and ".join(ROLES)))
        self.from_s = round(_number(table, "from_s"), 3)
        self.to_s = round(_number(table, "to_s"), 3)
        if self.to_s <= self.from_s:
            raise SettingsError("to_s is not after from_s")
        self.sample_s = _number(table, "sample_s")
        self.interval_s = max(_number(table, "interval_s"), self.sample_s)
        self.max_disk_bytes = int(_number(table, "max_disk_bytes"))
        self.max_rss_bytes = int(_number(table, "max_rss_bytes"))
        self.max_cpu_share = _number(table, "max_cpu_share")
        self.min_free_disk_bytes = int(_number(table, "min_free_disk_bytes"))
        self.nvml_library = table.get("nvml_library") or os.environ.get("AUDIT_NVML_LIBRARY") or None
        if self.nvml_library is not None and not isinstance(self.nvml_library, str):
            raise SettingsError("nvml_library is not a path")
        commands = table.get("slurm_commands") or {}
        if not isinstance(commands, dict):
            raise SettingsError("slurm_commands is not a table")
        self.scontrol = commands.get("scontrol", "scontrol")
        if not isinstance(self.scontrol, str) or not self.scontrol:
            raise SettingsError("slurm_commands.scontrol is not a command")


def _text(table: dict, name: str) -> str:
    value = table.get(name)
    if not isinstance(value, str) or not value:
        raise SettingsError("%s is missing or empty" % name)
    if len(value) > LONGEST_NAME:
        raise SettingsError("%s is longer than %d characters" % (name, LONGEST_NAME))
    return value


def _number(table: dict, name: str) -> float:
    kind, default, least, most = _NUMBERS[name]
    value = table.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise SettingsError("%s is %.100r: a number from %g to %g" % (name, value, least, most))
    return kind(value)


def read_settings(folder: str) -> Settings:
    """What DIR/window.json says; raises SettingsError with one line that names the file and the fault."""
    path = os.path.join(folder, "window.json")
    try:
        with open(path, "rb") as opened:
            table = json.loads(opened.read(LARGEST_FILE_BYTES).decode("utf-8"))
        if not isinstance(table, dict):
            raise SettingsError("not a table")
        return Settings(table)
    except RuntimeError as error:
        raise SettingsError("%s: nested too deeply" % path) from error
    except (OSError, ValueError, SettingsError) as error:
        raise SettingsError("%s: %s" % (path, error)) from error
