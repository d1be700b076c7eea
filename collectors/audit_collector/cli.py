"""The collector's command line. What each command touches is said where it is done.

Exit status: 0 done, 1 not done, 2 wrong use or settings, 3 a cap was hit, 4 another collector runs in the folder.
"""

import json
import os
import sys
import time

from audit_collector import VERSION
from audit_collector.settings import ROLES, SettingsError, read_settings
from audit_collector.spool import Busy, Removed, Spool, SpoolError

USAGE = (
    "usage: collector.pyz run|status|rotate|segments|check|version [--dir DIR] [--root PATH] [--role node|controller]"
)
OPEN_NAMES = (("open.seg", "node"), ("open-controller.seg", "controller"))
ROTATE_S = 15.0


def main(arguments: list) -> int:
    """Runs one command; the exit status."""
    try:
        command, options = _parse(arguments)
        return _COMMANDS[command](options)
    except (SettingsError, SpoolError, _Usage) as error:
        sys.stderr.write("audit-collector: %s\n" % error)
        return 4 if isinstance(error, Busy) else 1 if isinstance(error, Removed) else 2


class _Usage(Exception):
    pass


def _parse(arguments: list) -> tuple:
    # By hand: argparse alone would be a tenth of the memory.
    options = {"--dir": "", "--root": "/", "--role": []}
    if not arguments or arguments[0] not in _COMMANDS:
        raise _Usage(USAGE)
    rest = list(arguments[1:])
    while rest:
        name = rest.pop(0)
        name, equals, value = name.partition("=")
        if name not in options or not (equals or rest):
            raise _Usage(USAGE)
        value = value if equals else rest.pop(0)
        if name == "--role":
            if value not in ROLES:
                raise _Usage("--role %s: one of %s" % (value, ", ".join(ROLES)))
            options[name] += [value] if value not in options[name] else []
        else:
            options[name] = value
    if not options["--dir"] and arguments[0] != "version":
        raise _Usage(USAGE)
    options["--root"] = options["--root"].rstrip("/")
    return arguments[0], options


def _run(options: dict) -> int:
    settings = read_settings(options["--dir"])
    from audit_collector.life import Life

    made = []
    for role in options["--role"] or settings.roles:
        if role == "node":
            from audit_collector.node_role import NodeRole

            made.append(NodeRole)
        else:
            from audit_collector.controller import ControllerRole

            made.append(ControllerRole)
    return Life(options["--dir"], settings, made, options["--root"]).run()


def _status(options: dict) -> int:
    from audit_collector.state import status

    _print(status(options["--dir"], read_settings(options["--dir"])))
    return 0


def _rotate(options: dict) -> int:
    settings = read_settings(options["--dir"])
    spool = Spool(options["--dir"], create=False)
    if spool.holder() is None:
        from audit_collector.segments import close_left_over, file_prefix

        spool.lock()
        for name, role in OPEN_NAMES:
            close_left_over(spool, name, file_prefix(settings.node, role))
        return 0
    os.close(spool.open("rotate", os.O_WRONLY | os.O_CREAT))
    until_s = time.time() + max(ROTATE_S, 1.5 * settings.sample_s)
    while time.time() < until_s:
        if "rotate" not in spool.names():
            return 0
        time.sleep(0.05)
    sys.stderr.write("audit-collector: the running collector did not close its segment in time\n")
    return 1


def _segments(options: dict) -> int:
    import hashlib

    spool = Spool(options["--dir"], create=False)
    told = []
    for name in sorted(spool.names()):
        if name.endswith(".seg.gz"):
            summed, size_bytes = hashlib.sha256(), 0
            with os.fdopen(spool.open(name, os.O_RDONLY), "rb") as opened:
                for part in iter(lambda: opened.read(1 << 20), b""):
                    summed.update(part)
                    size_bytes += len(part)
            told.append({"name": name, "size_bytes": size_bytes, "sha256": summed.hexdigest()})
    _print(told)
    return 0


def _check(options: dict) -> int:
    from audit_collector.check import check

    _print(check(options["--dir"], options["--root"]))
    return 0


def _version(options: dict) -> int:
    sys.stdout.write(VERSION + "\n")
    return 0


def _print(value: object) -> None:
    sys.stdout.write(json.dumps(value, sort_keys=True) + "\n")


_COMMANDS = {
    "run": _run,
    "status": _status,
    "rotate": _rotate,
    "segments": _segments,
    "check": _check,
    "version": _version,
}
