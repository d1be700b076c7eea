"""Which job a control group on a node belongs to, in every layout Slurm has made (cgroup v1 and v2, 26.05's SLUIDs)."""

import re

_LAYOUTS = (
    re.compile(r"slurmstepd\.scope/job_(?P<job>\d+)(?:/|$)"),
    re.compile(r"slurmstepd\.scope/(?P<sluid>s[0-9A-HJKMNP-TV-Z]{13})(?:/|$)"),
    re.compile(r"/slurm[^/]*/uid_\d+/job_(?P<job>\d+)(?:/|$)"),
)


def job_of_cgroup(path: str) -> str | None:
    """The job id, or `sluid:…` where the directory carries one; None for a path that is no job's: to be counted."""
    for layout in _LAYOUTS:
        if match := layout.search(path):
            named = match.groupdict()
            return named.get("job") or f"sluid:{named['sluid']}"
    return None
