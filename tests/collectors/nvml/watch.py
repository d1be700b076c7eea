"""Runs the collector's GPU part step by step under whichever Python this is: steps come as JSON on stdin, see `watch`.

Python 3.6 and later; prints JSON: {"events": [[kind, text]], "rows": [{column: value}] per `rows` step, "summary"}.
"""

import json
import os
import sys
import time
from pathlib import Path


class Jobs:
    """The jobs of a step: {"pids": {pid: job}, "jobs": [[job, since_s, devices folder or null]]}."""

    def __init__(self, table):
        self.pids, self.devices = table.get("pids", {}), table.get("jobs", [])

    def job_of_pid(self, pid):
        return self.pids.get(str(pid))


class Settings:
    def __init__(self, table):
        self.nvml_library, self.sample_s = table["library"], table["sample_s"]


def put(path, text):
    Path(path + ".new").write_text(text)
    Path(path + ".new").replace(path)


def main():
    todo = json.load(sys.stdin)
    sys.path[:0] = todo["path"]
    os.environ["AUDIT_NVML_SCRIPT"] = script = todo["script"]
    from audit_collector.gpu import COLUMNS, Gpus

    events, rows, jobs = [], [], Jobs({})
    gpus = Gpus(Settings(todo), todo["root"], lambda kind, text: events.append([kind, text]))
    start, step = todo["start"], 0.0
    for action, value in todo["steps"]:
        if action == "jobs":
            jobs = Jobs(value)
        elif action == "script":
            put(script, value)
        elif action == "dcgm":
            put(os.environ["AUDIT_DCGM_SCRIPT"], value)
        elif action == "clock":
            step += value
        elif action == "wait":
            time.sleep(value)
        elif action == "poll":
            put(script + ".t", repr(value))
            gpus.sample(start + value + step, 5000.0 + value, jobs)
        elif action == "rows":
            found = gpus.rows(start + value[0] + step, start + value[1] + step)
            rows.append([dict(zip(COLUMNS[kind], row), kind=kind) for kind, row in found])  # noqa: B905 — 3.6
    summary = gpus.summary()
    gpus.close()
    json.dump({"events": events, "rows": rows, "summary": summary}, sys.stdout)


main()
