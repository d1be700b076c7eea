"""Asks Slurm on the controller: accounting a day at a time, nodes and their events. Reads only; needs no root.

What is asked is laid into a folder in /tmp that only who logged in can read, for the moments the transfer takes.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time

import place

STAGED = re.compile(r"/tmp/audit-asked-[0-9a-f]{32}")
QUERY_S = 1800  # of one day's accounting
DELIMITER = "\x1f"  # no name in Slurm holds it


def nodes(request, archive):
    """The node names of some partitions, as Slurm lists them."""
    argv = ["sinfo", "--noheader", "--Node", "--format=%N", "--partition=" + ",".join(request["partitions"])]
    return {"nodes": sorted(set(printed(argv).split()))}, False


def accounting(request, archive):
    """Dumps each day asked for, the nodes and their events into files; a query that fails is named, others go on."""
    folder = _folder(request)
    answer = {"files": [], "failed": [], "asked_s": int(time.time())}
    try:
        known = {name.lower() for name in printed(["sacct", "--helpformat"]).split()}
    except place.Failed as failed:
        return dict(answer, failed=[str(failed)]), False
    fields = [name for name in request["fields"] if name.lower() in known]
    sacct = ["sacct", "-a", "-D", "-P", "--delimiter=" + DELIMITER, "-o", ",".join(fields)]
    events = ["sacctmgr", "show", "event", "-P", "start=" + request["since"]]
    asked = [("sacct-" + day, sacct + ["-S", day, "-E", after], day) for day, after in request["days"]]
    asked += [("node-events", events, None), ("nodes", ["scontrol", "show", "node", "-o"], None)]
    asked += [("sreport", request["sreport"], None)] if request["sreport"] else []
    for name, argv, day in asked:
        try:
            open_rows = _dump(argv, os.path.join(folder, name + ".txt.gz"))
        except place.Failed as failed:
            answer["failed"].append("%s: %s" % (name, failed))
            if day:
                break  # a database that is down is not asked thirteen times more
            continue
        answer["files"].append({"name": name, "day": day, "open": open_rows})
    _hand_over(folder)
    return answer, bool(answer["files"])


def unstage(request, archive):
    """Removes what a transfer needed, and what an earlier one that was cut left."""
    for name in os.listdir("/tmp"):
        path = "/tmp/" + name
        if STAGED.fullmatch(path) and os.lstat(path).st_uid in (os.geteuid(), _reader().st_uid):
            shutil.rmtree(path, ignore_errors=True)
    return {}, False


def _folder(request):
    if not STAGED.fullmatch(request["folder"]):
        raise place.Failed("%s is no place for this" % request["folder"])
    os.mkdir(request["folder"], 0o700)
    return request["folder"]


def _reader():
    return os.stat(os.path.abspath(sys.argv[0]))


def _hand_over(folder):
    """One archive, which who logged in may fetch."""
    reader = _reader()
    path = os.path.join(folder, "asked.tar")
    names = sorted(os.listdir(folder))
    with tarfile.open(path, "w") as tar:
        for name in names:
            tar.add(os.path.join(folder, name), name)
            os.unlink(os.path.join(folder, name))
    for made in (path, folder):
        os.chown(made, reader.st_uid, reader.st_gid)


def _environment():
    path = os.environ.get("PATH", "/usr/bin:/bin") + place.ELSEWHERE
    return dict(os.environ, PATH=path, TZ="UTC", SLURM_TIME_FORMAT="%s", LC_ALL="C.UTF-8")


def printed(argv):
    """What a short query of Slurm's prints; Failed where it cannot be asked."""
    try:
        done = subprocess.run(
            argv,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise place.Failed("%s: %s" % (argv[0], error))
    if done.returncode != 0:
        raise place.Failed(_why(argv, done.returncode, done.stderr))
    return done.stdout.decode("utf-8", "replace")


def _why(argv, status, stderr):
    said = stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    return "%s ended with %d: %s" % (argv[0], status, "".join(said)[:300])


def _dump(argv, path):
    """Writes what a query prints, compressed; answers how many of its rows are not ended yet."""
    try:
        query = subprocess.Popen(
            argv, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise place.Failed("%s: %s" % (argv[0], error))
    errors = []
    listener = threading.Thread(target=lambda: errors.append(query.stderr.read()))
    listener.start()
    limit = threading.Timer(QUERY_S, query.kill)
    limit.start()
    unended = 0
    try:
        with gzip.open(path, "wb", 6) as file:
            for line in query.stdout:
                file.write(line)
                unended += b"Unknown" in line.rstrip(b"\n").split(b"\x1f")
    finally:
        query.stdout.close()
        status = query.wait()
        limit.cancel()
        listener.join()
    if status != 0:
        os.unlink(path)
        raise place.Failed(_why(argv, status, errors[0]))
    return unended
