"""Where things stand on a node, and the few helpers every step needs. Python 3.6 and its standard library."""

import grp
import json
import os
import pwd
import subprocess
import sys

FOLDER = "/var/lib/audit-collector"
PROGRAM = FOLDER + "/collector.pyz"
SETTINGS = FOLDER + "/window.json"
SUPERVISE = FOLDER + "/supervise"
OWNER = FOLDER + "/owner.json"
SPOOL = FOLDER + "/spool"
OUTBOX = "/var/lib/audit-collector-out"  # for the moments a transfer takes, readable by who logged in
UNIT = "/etc/systemd/system/audit-collector.service"
INIT = "/etc/init.d/audit-collector"
PID_FILE = "/run/audit-collector.pid"
LOCK = "/run/audit-collector.lock"
USER = "audit-collector"
SERVICE = "audit-collector.service"
LINKS = ["/etc/rc%d.d/S99audit-collector" % level for level in (2, 3, 4, 5)] + [
    "/etc/rc%d.d/K01audit-collector" % level for level in (0, 1, 6)
]
ELSEWHERE = ":/usr/local/bin:/usr/local/sbin:/opt/slurm/bin:/usr/local/slurm/bin:/usr/sbin"  # Slurm, off the PATH
COLLECTOR_S = 60  # a command of the collector's that takes longer hangs


class Failed(Exception):
    """The step cannot be done; the text says why, in one line."""


def has_systemd():
    """True where systemd runs (sd_booted's own test), whatever /sbin/init is."""
    return os.path.isdir("/run/systemd/system")


def user():
    """The collector's account, or None."""
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        return None


def group():
    """The collector's group, or None."""
    try:
        return grp.getgrnam(USER)
    except KeyError:
        return None


def installed():
    """True where a collector stands here; Failed where only root can tell."""
    try:
        os.stat(FOLDER + "/.")
        return os.path.exists(PROGRAM)
    except PermissionError:
        raise Failed("needs root there: --become, or become under [fleet] in audit.toml")
    except OSError:
        return False


def content(path):
    """The bytes of a regular file, or None; a link is not followed."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read()


def read_json(path):
    """The object in a file of ours, or an empty one."""
    try:
        value = json.loads((content(path) or b"{}").decode("utf-8"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def run(argv, timeout_s=COLLECTOR_S, account=None):
    """What a command printed, run as `account` where given; Failed where it cannot be run or ends badly."""

    def lower():
        os.setgroups([])
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)

    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout_s,
            cwd="/",
            preexec_fn=lower if account and os.geteuid() == 0 else None,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed("%s: %s" % (os.path.basename(argv[0]), error))
    if done.returncode != 0:
        last = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-1:]
        raise Failed("%s ended with %d: %s" % (" ".join(argv[:2]), done.returncode, "".join(last)[:300]))
    return done.stdout


def collector(verb, program=PROGRAM):
    """What the collector's own command answers, read as JSON (None where it answers nothing)."""
    # What is installed runs as its own account: root does not run what may have read hostile things.
    account = user() if program == PROGRAM else None
    if program == PROGRAM and account is None:
        raise Failed("the account %s is gone: deploy again, or teardown --discard" % USER)
    out = run([sys.executable, "-I", "-B", program, verb, "--dir", FOLDER], account=account).decode("utf-8", "replace")
    try:
        return json.loads(out) if out.strip() else None
    except ValueError:
        raise Failed("the collector's %s answers no JSON" % verb)


def processes():
    """The ids of the collector's processes: those of its account, and those started from its folder."""
    account = user()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            owner = os.stat("/proc/" + name).st_uid
            with open("/proc/%s/cmdline" % name, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        ours = account is not None and owner == account.pw_uid
        if ours or PROGRAM.encode() in words or SUPERVISE.encode() in words:
            found.append(int(name))
    return sorted(found)
