"""Installs the collector: only what differs is written, and only a change restarts it. Needs root."""

import json
import os
import shutil
import stat
import sys
import tempfile

import place
import service
from lock import Lock

# What the service may speak to: DCGM's host engine on this machine; slurmctld where the controller's role asks it.
_TO_DCGM = b"RestrictAddressFamilies=AF_UNIX AF_INET\nIPAddressDeny=any\nIPAddressAllow=localhost"
_TO_SLURM = b"RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6"


def install(request, archive):
    """Puts the files, the account and the start-up hook in place and starts the collector."""
    if os.geteuid() != 0:
        raise place.Failed("needs root: --become, or become under [fleet] in audit.toml")
    with Lock(request["who"]):
        owner = place.read_json(place.OWNER)
        if owner and owner.get("engagement") != request["engagement"] and not request["take_over"]:
            raise place.Failed(
                "a collector of %s stands here: their teardown first, or --take-over" % (owner.get("by") or "others")
            )
        # What is written first says whether the account is ours to remove again.
        mine = dict(owner, engagement=request["engagement"], by=request["who"])
        mine["made_account"] = place.user() is None or owner.get("made_account", False)
        claimed = {**mine, "by": None} != {**owner, "by": None}
        if claimed:
            os.makedirs(place.FOLDER, 0o750, exist_ok=True)
            _write(place.OWNER, json.dumps(mine, sort_keys=True).encode(), 0o644)
        account = _account()
        wanted = _files(request, archive)
        stale = [path for path, (data, mode) in wanted.items() if _differs(path, data, mode)]
        if stale:
            service.stop()
        moved = _folders(account)
        for path in stale:
            _write(path, *wanted[path])
        linked = _link()
        status = place.collector("status")
        start = bool(stale) or not (status.get("alive") or status.get("ended") == "window")
        if start:
            service.start()
            status = place.collector("status")
        answer = {"written": sorted(stale), "alive": status.get("alive"), "ended": status.get("ended")}
        return answer, bool(claimed or stale or moved or linked or start)


def _account():
    """The collector's account, made where it is not there."""
    if place.user():
        return place.user()
    shell = next((s for s in ("/usr/sbin/nologin", "/sbin/nologin") if os.path.exists(s)), "/bin/false")
    place.run(
        ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/", "--shell", shell, place.USER]
    )
    account = place.user()
    if account is None:
        raise place.Failed("the account %s was made and is not to be seen" % place.USER)
    return account


def _files(request, archive):
    """Path -> (bytes, mode) of every file that is root's."""
    window = _window(request["window"])
    reach = _TO_SLURM if "controller" in window["roles"] else _TO_DCGM
    words = {b"@PYTHON@": sys.executable.encode(), b"@NETWORK@": reach}
    files = {
        place.PROGRAM: (archive.read("collector.pyz"), 0o644),
        place.SETTINGS: (json.dumps(window, sort_keys=True).encode(), 0o644),
    }
    if place.has_systemd():
        files[place.UNIT] = (_filled(archive.read("audit-collector.service"), words), 0o644)
    elif os.path.isdir("/etc/init.d"):
        files[place.SUPERVISE] = (archive.read("supervise"), 0o755)
        files[place.INIT] = (_filled(archive.read("audit-collector.init"), words), 0o755)
    else:
        raise place.Failed("neither systemd nor /etc/init.d is here: nothing would start it after a reboot")
    return files


def _window(window):
    """The settings, with the place of scontrol where the controller's role needs it: a service has a short PATH."""
    if "controller" not in window["roles"]:
        return window
    found = shutil.which("scontrol", path=os.environ.get("PATH", "/usr/bin:/bin") + place.ELSEWHERE)
    return dict(window, slurm_commands={"scontrol": found or "scontrol"})


def _filled(text, words):
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _differs(path, data, mode):
    found = place.content(path)
    return found is None or found != data or stat.S_IMODE(os.lstat(path).st_mode) != mode


def _folders(account):
    """The folder, root's, and in it the spool, the account's; True where one was made or set right."""
    changed = False
    for path, mode, owner in ((place.FOLDER, 0o750, 0), (place.SPOOL, 0o700, account.pw_uid)):
        if not os.path.lexists(path):
            os.mkdir(path, mode)
        at = os.lstat(path)
        if not stat.S_ISDIR(at.st_mode):
            raise place.Failed("%s is no folder: remove it by hand" % path)
        if (at.st_uid, at.st_gid, stat.S_IMODE(at.st_mode)) != (owner, account.pw_gid, mode):
            os.chown(path, owner, account.pw_gid)
            os.chmod(path, mode)
            changed = True
    return changed


def _write(path, data, mode):
    """Whole or not at all."""
    handle, draft = tempfile.mkstemp(prefix=".new-", dir=os.path.dirname(path))
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(draft, mode)
    os.rename(draft, path)


def _link():
    """The links that start it at boot where no systemd runs; True where one was made."""
    if place.has_systemd():
        return False
    made = False
    for link in place.LINKS:
        if os.path.isdir(os.path.dirname(link)) and not os.path.lexists(link):
            os.symlink("../init.d/audit-collector", link)
            made = True
    return made
