"""The checks before anything is put on a node. Writes only into a temporary folder that is removed again."""

import os
import platform
import re
import shutil
import tempfile
import time

import asked
import place


def check(request, archive):
    """What the node is like: the collector's own check, run from a temporary place, and what stands there already."""
    folder = tempfile.mkdtemp(prefix="audit-check-")
    try:
        program = os.path.join(folder, "collector.pyz")
        with open(program, "wb") as file:
            file.write(archive.read("collector.pyz"))
        found = place.collector("check", program)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    owner = place.read_json(place.OWNER)
    answer = {
        "root": os.geteuid() == 0,
        "init": "systemd" if place.has_systemd() else "sysv" if os.path.isdir("/etc/init.d") else None,
        "installed": os.path.exists(place.PROGRAM),
        "engagement": owner.get("engagement"),
        "by": owner.get("by"),
        "processes": len(place.processes()),
        "python": platform.python_version(),
        "disk_free_bytes": _free_bytes(),
    }
    answer.update(found or {})
    if request.get("controller"):
        answer["cluster"] = _cluster()
    answer["now_s"] = time.time()
    return answer, False


def _cluster():
    """The cluster's name as the controller tells it; None where it cannot be asked."""
    try:
        told = asked.printed(["scontrol", "show", "config"])
    except place.Failed:
        return None
    found = re.search(r"^ClusterName\s*=\s*(\S+)", told, re.MULTILINE)
    return found.group(1) if found else None


def _free_bytes():
    at = os.statvfs("/var/lib")
    return at.f_bavail * at.f_frsize


def status(request, archive):
    """What the collector on the node says of itself."""
    if not place.installed():
        return {"installed": False}, False
    answer = {"installed": True, "engagement": place.read_json(place.OWNER).get("engagement")}
    answer.update(place.collector("status") or {})
    return answer, False
