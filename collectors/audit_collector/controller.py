"""The controller role: which job holds what on which node, and node states, asked of Slurm once a minute.

Runs `scontrol` as a child with a time limit; asks nothing that changes anything.
"""

from audit_collector import slurm_text
from audit_collector.commands import CommandError, lines
from audit_collector.segments import lines_of
from audit_collector.wire import CONTROLLER_COLUMNS

EVERY_S = 60.0
TIMEOUT_S = 10.0
# Outside these a job holds nothing, and Slurm shows its GPUs no more.
_HOLDING = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT")
_MEBIBYTE = 1 << 20
LARGEST_DOUBTFUL = 20


class ControllerRole:
    """Allocations and node states, told when first seen and when they change."""

    role = "controller"
    open_name = "open-controller.seg"

    def __init__(self, settings: object, root: str, log: object) -> None:
        self.settings = settings
        self.log = log
        self.every_s = min(EVERY_S, settings.interval_s)
        self.next_mono_s = 0.0
        self.failing = {}
        self.allocations = {}
        self.states = {}
        self.lines = []
        self.polls = 0
        self.running = 0

    def header(self) -> dict:
        """What only this role says in a segment's header."""
        return {"cgroup": None, "nvidia_driver": None, "columns": CONTROLLER_COLUMNS}

    def sample(self, now_s: float, mono_s: float) -> None:
        """Asks Slurm when it is time to."""
        if mono_s < self.next_mono_s:
            return
        # A quarter of a second early is not skipped: ticks are not exact.
        self.next_mono_s = mono_s + self.every_s - 0.25
        jobs = self._ask("show job", lambda: self._jobs(now_s))
        # Without an answer to the first the second would only wait as long again.
        nodes = jobs and self._ask("show node", lambda: self._nodes(now_s))
        self.polls += int(nodes)
        if not nodes:
            self.next_mono_s += self.every_s

    def counts(self) -> tuple:
        """(answers got, jobs that hold something, 0, 0)."""
        return self.polls, self.running, 0, 0

    def rows(self, from_s: float, to_s: float) -> str:
        """The lines of the interval; starts the next."""
        text = "".join(lines_of(kind, [row]) for kind, row in self.lines)
        self.lines = []
        self.polls = 0
        return text

    def new_segment(self) -> None:
        """A new segment tells everything anew: each can be read alone."""
        self.allocations = {}
        self.states = {}

    def _ask(self, what: str, take: object) -> bool:
        try:
            take()
        except CommandError as error:
            if what not in self.failing:
                self.log.event("degraded", "controller: %s" % error)
            self.failing[what] = True
            return False
        if self.failing.pop(what, False):
            self.log.event("degraded", "controller: scontrol %s answers again" % what)
        return True

    def _jobs(self, now_s: float) -> None:
        command = [self.settings.scontrol, "show", "job", "-d"]
        records = {}
        doubtful = set()
        for record in slurm_text.jobs(lines(command, TIMEOUT_S)):
            if record["id"] in records or not record["done"]:
                doubtful.add(record["id"])
            records[record["id"]] = record
        for job in sorted(doubtful):
            # A name with line breaks can look like another job's record: asked for alone it cannot.
            records.pop(job)
            record = self._alone(command, job) if len(doubtful) <= LARGEST_DOUBTFUL else None
            if record is None:
                self.log.degraded("controller: job %d is not told apart from a job's name; not taken" % job)
            else:
                records[job] = record
        before, self.allocations = self.allocations, {}
        self.running = 0
        for record in records.values():
            held = record["state"] in _HOLDING
            self.running += int(held and bool(record["details"]))
            for row in _rows(record):
                key = row[0], row[6]
                known = before.get(key)
                if known is not None and not held and known[4] == row[4]:
                    # Ended: what it held is no longer shown; what was told of it stays.
                    self.allocations[key] = known
                    continue
                self.allocations[key] = row
                if known != row:
                    self.lines.append(("alloc", (now_s, *row)))

    def _alone(self, command: list, job: int) -> object:
        try:
            record = slurm_text.one(lines([*command, str(job)], TIMEOUT_S))
        except CommandError:
            return None
        # The answer for an array's first job holds all its tasks.
        if record is None or record["id"] != job or record["array_job"] is not None or not record["done"]:
            return None
        return record

    def _nodes(self, now_s: float) -> None:
        command = [self.settings.scontrol, "show", "node", "-o"]
        for line in lines(command, TIMEOUT_S):
            told = slurm_text.node(line)
            if told is not None and self.states.get(told[0]) != told:
                self.states[told[0]] = told
                self.lines.append(("state", (now_s, *told)))

    def shift(self, step_s: float) -> None:
        """The wall clock was stepped: nothing here is reckoned from it."""

    def restore(self, jobs: list, last_s: float) -> None:
        """An earlier run's segments are closed; everything is told anew."""

    def summary(self) -> dict:
        """For status."""
        return {"jobs_now": self.running}

    def baselines(self) -> list:
        """Nothing to go on from."""
        return []

    def close(self) -> None:
        """Nothing is held."""


def _rows(record: dict) -> list:
    """The columns of `alloc` but the first, a row per node of the job."""
    rows = []
    for nodes, cpus, memory, gres in record["details"]:
        index, count = slurm_text.gpus(gres)
        start = (record["id"], record["array_job"], record["array_task"], record["het"], record["start_s"])
        for name in slurm_text.hosts(nodes):
            held = (cpus or None, int(memory) * _MEBIBYTE, gres or None, index, count, record["sluid"])
            rows.append((*start, record["state"], name, *held))
    return rows
