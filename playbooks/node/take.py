"""Hands out closed segments: listed, and those not yet fetched laid into one archive for the transfer."""

import os
import re
import shutil
import stat
import sys
import tarfile

import place

SEGMENT = re.compile(r"[A-Za-z0-9._-]{1,200}\.seg\.gz")
BATCH_BYTES = 64 * 2**20


def segments(request, archive):
    """Closes the running segment, lists all closed ones, and stages the first new ones (at most 64 MiB and one)."""
    clear(request, archive)
    if not place.installed():
        return {"installed": False, "segments": [], "staged": []}, False
    late = None
    try:
        if request["rotate"]:
            place.collector("rotate")
    except place.Failed as failed:
        late = str(failed)  # what is closed already is worth fetching all the same
    listed = [s for s in place.collector("segments") or [] if SEGMENT.fullmatch(s["name"])]
    have = set(request["have"])
    new, room = [], BATCH_BYTES
    for segment in listed:
        if segment["name"] not in have and room > 0:
            new.append(segment["name"])
            room -= segment["size_bytes"]
    if new:
        _stage(new)
    return {"installed": True, "segments": listed, "staged": new, "rotate_failed": late}, bool(new)


def _stage(names):
    """Who logged in may read the archive: the owner of this very program, whatever became root on the way."""
    reader, owner = os.stat(os.path.abspath(sys.argv[0])), place.user()
    os.mkdir(place.OUTBOX, 0o700)
    path = place.OUTBOX + "/segments.tar"
    with tarfile.open(path, "w") as tar:
        for name in names:
            handle = os.open(place.SPOOL + "/" + name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                at = os.fstat(handle)
                # Another name of somebody else's file would hand that file out.
                if not stat.S_ISREG(at.st_mode) or at.st_nlink != 1 or owner is None or at.st_uid != owner.pw_uid:
                    raise place.Failed("%s in the spool is no file of the collector's" % name)
                item = tarfile.TarInfo(name)
                item.size = at.st_size
                tar.addfile(item, file)
    for made in (path, place.OUTBOX):
        os.chown(made, reader.st_uid, reader.st_gid)


def clear(request, archive):
    """Removes what a transfer needed."""
    shutil.rmtree(place.OUTBOX, ignore_errors=True)
    return {}, False
