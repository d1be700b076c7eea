"""Reads what `scontrol show job -d` and `scontrol show node -o` print. Touches nothing.

A job's name may hold line breaks and whatever a user likes, Slurm's own words too. So a line counts only where Slurm
itself prints it: allocations after the record's last `UserId=` and between JOB_GRES (or Socks/Node) and MinCPUsNode.
"""

import calendar
import re
import time

LARGEST_NODES = 65536
_FIRST = re.compile(r"JobId=([0-9]+) ")
_ARRAY = re.compile(r" ArrayJobId=([0-9]+)")
_ARRAY_TASK = re.compile(r" ArrayTaskId=([0-9]+)(?= |$)")
_HET = re.compile(r" HetJobId=([0-9]+)")
_DETAIL = re.compile(r"     Nodes=(\S+) CPU_IDs=(\S*) Mem=([0-9]+) GRES=(\S*)\s*\Z")
_SLUID = re.compile(r"   SLUID=(s[0-9A-HJKMNP-TV-Z]{13})\b")
_STATE = re.compile(r"   JobState=([A-Z_]+) ")
_START = re.compile(r"   StartTime=(\S+) ")
_GRES = re.compile(r"([^,()]+)(?:\((?:IDX:)?([^)]*)\))?")
_NODE = re.compile(r"NodeName=(\S+) .*? State=(\S+) ")
_REASON = re.compile(r" Reason=(.*?)(?: \[[^\]\[]*@[^\]\[]*\](?: .*)?)?\Z")


def jobs(lines: object) -> object:
    """One table per job record; its `details` are (node list, CPU ids, MiB, GRES), one per line of Slurm's."""
    record = None
    for line in lines:
        first = _FIRST.match(line)
        if first:
            if record is not None:
                yield record
            record = _record(int(first.group(1)), line.partition(" JobName=")[0])
        elif record is not None:
            _take(record, line)
    if record is not None:
        yield record


def one(lines: object) -> object:
    """The record of an answer that holds one job's only, whatever its name makes it look like; None for no job."""
    record = None
    for line in lines:
        if record is not None:
            _take(record, line)
        elif _FIRST.match(line):
            record = _record(int(_FIRST.match(line).group(1)), line.partition(" JobName=")[0])
    return record


def _record(job: int, head: str) -> dict:
    found = {"id": job, "details": [], "sluid": None, "state": None, "start_s": None, "open": False, "done": False}
    for name, pattern in (("array_job", _ARRAY), ("array_task", _ARRAY_TASK), ("het", _HET)):
        matched = pattern.search(head)
        found[name] = int(matched.group(1)) if matched else None
    return found


def _take(record: dict, line: str) -> None:
    if line.startswith("   UserId="):
        # What came before was a name with line breaks in it.
        record.update(details=[], state=None, start_s=None, open=False, done=False)
        return
    if record["done"]:
        return
    if line.startswith(("   Socks/Node=", "   JOB_GRES=")):
        record["open"] = True
    elif line.startswith("   MinCPUsNode="):
        record["done"] = True
    elif record["open"] and line.startswith("     Nodes="):
        matched = _DETAIL.match(line)
        if matched:
            record["details"].append(matched.groups())
    elif record["state"] is None and _STATE.match(line):
        record["state"] = _STATE.match(line).group(1)
    elif record["start_s"] is None and _START.match(line):
        record["start_s"] = time_s(_START.match(line).group(1))
    elif record["state"] is None and _SLUID.match(line):
        # The last one before the state: a name with line breaks comes before Slurm's own.
        record["sluid"] = _SLUID.match(line).group(1)


def node(line: str) -> object:
    """(node, state, reason or None) of one line; None where it is no node's. Who set the reason is left out."""
    matched = _NODE.match(line)
    if not matched:
        return None
    reason = _REASON.search(line)
    return matched.group(1), matched.group(2), reason.group(1).strip() if reason and reason.group(1) else None


def time_s(text: str) -> object:
    """Epoch seconds of a time as Slurm prints it in UTC; None for Unknown, None and N/A."""
    try:
        return float(calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return None


def gpus(gres: str) -> tuple:
    """(indices as `1,2` or None, count or None) of the GPUs in a job's GRES on one node."""
    indices = []
    count = 0
    for name, chosen in _GRES.findall(gres):
        words = name.split(":")
        if words[0] != "gpu":
            continue
        count += int(words[-1]) if words[-1].isdigit() else 1
        indices += numbers(chosen)
    return ",".join(str(index) for index in sorted(set(indices))) or None, count or None


def numbers(text: str) -> list:
    """`0-2,5` as [0, 1, 2, 5]; what is no number is left out."""
    found = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if low.isdigit() and (not dash or high.isdigit()):
            found += range(int(low), min(int(high if dash else low), int(low) + LARGEST_NODES) + 1)
    return found


def hosts(text: str) -> list:
    """The nodes of a host list, `n[1-3,7],m01`; at most LARGEST_NODES of them."""
    found = []
    for part in re.findall(r"(?:[^,\[\]]+|\[[^\]]*\])+", text):
        names = [""]
        for fixed, ranges in re.findall(r"([^\[\]]+)|\[([^\]]*)\]", part):
            tails = [fixed] if fixed else _range(ranges)
            names = [name + tail for name in names for tail in tails][:LARGEST_NODES]
        found += names
    return found[:LARGEST_NODES]


def _range(text: str) -> list:
    found = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        if dash and low.isdigit() and high.isdigit():
            span = range(int(low), min(int(high), int(low) + LARGEST_NODES) + 1)
            found += [str(number).zfill(len(low)) for number in span]
        else:
            found.append(part)
    return found
