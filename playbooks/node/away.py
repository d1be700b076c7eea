"""Takes everything away again, then looks whether anything is left. Needs root."""

import os
import shutil

import place
import service
import take
from lock import Lock

ACCOUNT = "account " + place.USER


def remove(request, archive):
    """Stops and removes the collector; segments nobody fetched are kept unless the request says to drop them."""
    if os.geteuid() != 0:
        raise place.Failed("needs root: --become, or become under [fleet] in audit.toml")
    owner = place.read_json(place.OWNER)
    if owner and owner.get("engagement") != request["engagement"] and not request["take_over"]:
        raise place.Failed(
            "the collector here is %s's: theirs to remove, or --take-over" % (owner.get("by") or "other")
        )
    there = left_over()
    if not there:
        return {"left": [], "uncollected": []}, False
    with Lock(request["who"]):
        service.stop()
        # Asked to drop everything, a collector that is damaged does not hinder it.
        uncollected = [] if request["discard"] else _uncollected(request)
        if uncollected:
            # Stopped, all segments closed: `collect` fetches them, and teardown can go on.
            return {"left": there, "uncollected": uncollected}, True
        if place.user() and owner.get("made_account"):
            place.run(["userdel", place.USER])  # before the folder, which says that we made it
        if place.group() and owner.get("made_account"):
            place.run(["groupdel", place.USER])  # some userdel leave it
        for path in [place.UNIT, place.INIT, place.PID_FILE] + place.LINKS:
            if os.path.lexists(path):
                os.unlink(path)
        for path in (place.FOLDER, place.OUTBOX):
            shutil.rmtree(path, ignore_errors=True)
        if place.has_systemd():
            place.run(["systemctl", "daemon-reload"])
    left = [what for what in left_over() if what != ACCOUNT or owner.get("made_account") is not False]
    return {"left": left, "uncollected": uncollected}, True


def _uncollected(request):
    if not os.path.exists(place.PROGRAM) or not os.path.isdir(place.SPOOL):
        return []
    place.collector("rotate")
    have = set(request["have"])
    listed = place.collector("segments") or []
    return sorted(s["name"] for s in listed if take.SEGMENT.fullmatch(s["name"]) and s["name"] not in have)


def left_over():
    """Whatever of ours is on the node, in words."""
    left = ["process %d" % process for process in place.processes()]
    paths = [place.FOLDER, place.OUTBOX, place.UNIT, place.INIT, place.PID_FILE] + place.LINKS
    left += [path for path in paths if os.path.lexists(path)]
    wants = "/etc/systemd/system/multi-user.target.wants/" + place.SERVICE
    left += [wants] if os.path.lexists(wants) else []
    left += ["/var/spool/cron: an entry"] if _in_cron() else []
    left += [ACCOUNT] if place.user() or place.group() else []
    return left


def _in_cron():
    """True where a cron table names the collector (none of ours ever does)."""
    for folder in ("/etc/cron.d", "/var/spool/cron", "/var/spool/cron/crontabs"):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if place.PROGRAM.encode() in (place.content(os.path.join(folder, name)) or b""):
                return True
    return False
