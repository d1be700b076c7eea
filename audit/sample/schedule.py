"""Places jobs on nodes as a scheduler does, one event after another.

This is the one loop over jobs in the room: whether a job fits depends on every job placed before it, so
there is nothing to vectorise. Plain lists and integers keep it at a few tens of microseconds a job.

Order within a class of nodes is by submission plus time limit, so that short jobs pass long ones, with
backfill: whatever fits starts, but a job that has waited too long gets nodes kept free for it. Waiting
jobs of one shape stand in one queue, so that an array of hundreds costs one look. A node is never promised
more than it has: every start takes from the node's free cores, memory and GPUs, and asks first.
"""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf

from audit.sample import calibration as cal
from audit.sample.cluster import Cluster
from audit.sample.outages import Outage
from audit.sample.work import (
    NATURAL,
    NODE_FAIL,
    PENDING,
    PREEMPTED,
    REQUEUED,
    RUNNING,
    WITHDRAWN,
    Attempts,
    Shape,
    Work,
)

_SUBMIT, _END, _WITHDRAW, _OPEN, _CLOSE, _FAIL = range(6)


def place(cluster: Cluster, work: Work, outages: Sequence[Outage], horizon: int) -> Attempts:
    """Runs the cluster until `horizon`; what runs or waits then is RUNNING or PENDING."""
    return _Controller(cluster, work, outages, horizon).run()


class _Controller:
    def __init__(self, cluster: Cluster, work: Work, outages: Sequence[Outage], horizon: int) -> None:
        self.work, self.horizon = work, horizon
        self.pools = cluster.nodes
        self.node_class = cluster.node_class
        sizes = [cluster.classes[k] for k in cluster.node_class]
        self.cores = [size.cores for size in sizes]
        self.mem = [size.mem_mib for size in sizes]
        self.gpus = [size.gpus for size in sizes]
        self.cards = [list(range(size.gpus)) for size in sizes]
        self.open = [True] * len(sizes)
        self.closes_at: list[list[int]] = [[] for _ in sizes]  # announced maintenance, latest first
        self.kept_for = [-1] * len(sizes)
        self.on_node: list[set[int]] = [set() for _ in sizes]
        self.spare = [0] * len(sizes)  # preemptible attempts on the node
        self.queues: list[dict[int, deque[int]]] = [{} for _ in self.pools]
        self.reserved: list[tuple[int, tuple[int, ...]] | None] = [None] * len(self.pools)
        self.look_again = [0] * len(self.pools)
        self.attempts = Attempts()
        count = len(work.shape)
        self.asked = [0] * count  # submission of the waiting attempt
        self.eligible = [0] * count
        self.waits = [False] * count
        self.starts = [0] * count
        self.followers: list[list[int]] = [[] for _ in range(count)]
        self.events: list[tuple[int, int, int, int]] = []
        for job, leader in enumerate(work.follows):
            if leader >= 0:
                self.followers[leader].append(job)
            elif work.submit[job] >= 0:
                self.events.append((work.submit[job], _SUBMIT, job, 0))
        for spell in outages:
            kind = {"DOWN*": _FAIL, "MAINT": _FAIL, "DRAIN": _CLOSE}[spell.state]
            self.events += [(spell.start, kind, spell.node, 0), (spell.end, _OPEN, spell.node, 0)]
            if spell.state == "MAINT":
                self.closes_at[spell.node].insert(0, spell.start)
        self.events.sort()

    def run(self) -> Attempts:
        events, now = self.events, 0
        while events and events[0][0] < self.horizon:
            now, kind, subject, extra = heappop(events)
            if kind == _SUBMIT:
                self._submit(subject, now)
            elif kind == _END:
                if self.attempts.end[subject] < 0:
                    self._finish(subject, now, extra)
            elif kind == _WITHDRAW:
                self._withdraw(subject, now, extra)
            elif kind == _OPEN:
                self.open[subject] = True
                self._fill([subject], now)
            else:
                self._close(subject, now, fail=kind == _FAIL)
        self._note_waiting()
        return self.attempts

    def _note_waiting(self) -> None:
        """Notes what waits at the horizon, what a requeue or its array's throttle holds back included."""
        work = self.work
        for _, kind, job, _ in self.events:
            if kind == _SUBMIT and self.starts[job]:
                self.waits[job] = True
        for job, submitted in enumerate(work.array_submit):
            if work.inherits_submit[job] and not self.eligible[job] and submitted < self.horizon:
                self.asked[job] = self.eligible[job] = submitted
                self.waits[job] = True
        for job, waiting in enumerate(self.waits):
            if waiting:
                self.attempts.add(job, (self.asked[job], self.eligible[job], -1, -1), PENDING)

    # -- jobs come and go -------------------------------------------------------------------------

    def _submit(self, job: int, now: int) -> None:
        work, number = self.work, self.work.shape[job]
        shape = work.shapes[number]
        if not self.starts[job]:
            self.asked[job] = work.array_submit[job] if work.inherits_submit[job] else now
            self.eligible[job] = now
            if work.withdraw_s[job] < inf:
                heappush(self.events, (now + int(work.withdraw_s[job]), _WITHDRAW, job, now))
        self.waits[job] = True
        queue = self.queues[shape.node_class].get(number)
        while queue and not self.waits[queue[0]]:
            queue.popleft()
        if not queue:
            self.queues[shape.node_class].pop(number, None)
            nodes = self._find(shape, now + work.limit_s[job])
            if not nodes and not shape.preemptible and shape.gpus and shape.nodes == 1:
                nodes = self._preempt(shape, now, now + work.limit_s[job])
            if nodes:
                self._start(job, nodes, now)
                return
            queue = self.queues[shape.node_class][number] = deque()
        queue.append(job)
        self._reserve(shape.node_class, now)

    def _start(self, job: int, nodes: tuple[int, ...], now: int) -> None:
        work, shape = self.work, self.work.shapes[self.work.shape[job]]
        attempt = self.attempts.add(job, (self.asked[job], self.eligible[job], now, -1), RUNNING)
        cards = []
        for place_no, node in enumerate(nodes):
            part = shape.partner if shape.partner and place_no >= shape.nodes else shape
            self.cores[node] -= part.cores
            self.mem[node] -= part.mem_mib
            self.gpus[node] -= part.gpus
            self.on_node[node].add(attempt)
            self.spare[node] += part.preemptible
            free = self.cards[node]
            cards.append(tuple(free[: part.gpus]))
            del free[: part.gpus]
        self.attempts.nodes[attempt] = nodes
        self.attempts.gpus[attempt] = tuple(cards)
        self.waits[job] = False
        hold, why = work.hold_s[job], NATURAL
        if not self.starts[job] and work.requeue_s[job] < hold:
            hold, why = int(work.requeue_s[job]), REQUEUED
        self.starts[job] += 1
        heappush(self.events, (now + hold, _END, attempt, why))

    def _finish(self, attempt: int, now: int, why: int) -> None:
        nodes = self._release(attempt, now, why)
        self._fill(nodes, now)

    def _release(self, attempt: int, now: int, why: int) -> tuple[int, ...]:
        attempts, work = self.attempts, self.work
        job, nodes = attempts.job[attempt], attempts.nodes[attempt]
        shape = work.shapes[work.shape[job]]
        attempts.end[attempt], attempts.why[attempt] = now, why
        for place_no, node in enumerate(nodes):
            part = shape.partner if shape.partner and place_no >= shape.nodes else shape
            self.cores[node] += part.cores
            self.mem[node] += part.mem_mib
            self.gpus[node] += part.gpus
            self.on_node[node].discard(attempt)
            self.spare[node] -= part.preemptible
            if part.gpus:
                self.cards[node] = sorted((*self.cards[node], *attempts.gpus[attempt][place_no]))
        again = why in (REQUEUED, PREEMPTED) or (why == NODE_FAIL and work.requeues[job])
        if again and self.starts[job] <= cal.RESTARTS:
            self.asked[job], self.eligible[job] = now + 1, now + 1 + cal.REQUEUE_DELAY_S
            heappush(self.events, (self.eligible[job], _SUBMIT, job, 0))
        else:
            self._release_followers(job, now, natural=why == NATURAL)
        return nodes

    def _release_followers(self, job: int, now: int, *, natural: bool) -> None:
        for follower in self.followers[job]:
            if natural or not self.work.only_after_natural[follower]:
                heappush(self.events, (now + self.work.delay_s[follower], _SUBMIT, follower, 0))

    def _withdraw(self, job: int, now: int, submitted: int) -> None:
        if self.waits[job] and not self.starts[job] and self.eligible[job] == submitted:
            self.waits[job] = False
            self.attempts.add(job, (self.asked[job], self.eligible[job], -1, now), WITHDRAWN)
            self._release_followers(job, now, natural=False)
            pool = self.work.shapes[self.work.shape[job]].node_class
            kept = self.reserved[pool]
            if kept and kept[0] == job:
                self._fill(self._unreserve(pool), now)

    def _close(self, node: int, now: int, *, fail: bool) -> None:
        self.open[node] = False
        self.closes_at[node] = [t for t in self.closes_at[node] if t > now]
        touched: list[int] = []
        if self.kept_for[node] >= 0:
            touched += self._unreserve(self.node_class[node])
        if fail:
            for attempt in sorted(self.on_node[node]):
                touched += self._release(attempt, now, NODE_FAIL)
        self._fill(touched, now)

    # -- where a job fits -------------------------------------------------------------------------

    def _fits(self, node: int, shape: Shape, until: int, job: int = -1) -> bool:
        return (
            self.gpus[node] >= shape.gpus
            and self.cores[node] >= shape.cores
            and self.mem[node] >= shape.mem_mib
            and self._usable(node, until, job)
        )

    def _usable(self, node: int, until: int, job: int = -1) -> bool:
        """Whether the node takes a job that may run until then: up, not kept, no maintenance before."""
        closes = self.closes_at[node]
        kept_for = self.kept_for[node]
        return (
            self.open[node]
            and (kept_for < 0 or kept_for == job)
            and (not closes or until + cal.LIMIT_GRACE_S <= closes[-1])
        )

    def _find(self, shape: Shape, until: int) -> tuple[int, ...]:
        """The first nodes the whole shape fits on; () where there are none."""
        gpus, cores, mem = shape.gpus, shape.cores, shape.mem_mib
        free_gpus, free_cores, free_mem = self.gpus, self.cores, self.mem
        found: list[int] = []
        wanted = shape.nodes
        for node in self.pools[shape.node_class]:
            if (
                free_gpus[node] >= gpus
                and free_cores[node] >= cores
                and free_mem[node] >= mem
                and self._fits(node, shape, until)
            ):
                found.append(node)
                if len(found) == wanted:
                    break
        if len(found) < wanted:
            return ()
        if shape.partner:
            for node in self.pools[shape.node_class]:
                if node not in found and self._fits(node, shape.partner, until):
                    return (*found, node)
            return ()
        return tuple(found)

    def _preempt(self, shape: Shape, now: int, until: int) -> tuple[int, ...]:
        """Ends preemptible jobs on the first node where that makes room, the latest started first."""
        for node in self.pools[shape.node_class]:
            if not self.spare[node] or not self._usable(node, until):
                continue
            victims = [a for a in self.on_node[node] if self._preemptible(a) and self.attempts.start[a] < now]
            parts = [self.work.shapes[self.work.shape[self.attempts.job[a]]] for a in victims]
            if (
                self.gpus[node] + sum(p.gpus for p in parts) < shape.gpus
                or self.cores[node] + sum(p.cores for p in parts) < shape.cores
                or self.mem[node] + sum(p.mem_mib for p in parts) < shape.mem_mib
            ):
                continue
            for attempt in sorted(victims, reverse=True):
                self._release(attempt, now, PREEMPTED)
                if self._fits(node, shape, until):
                    return (node,)
        return ()

    def _preemptible(self, attempt: int) -> bool:
        return self.work.shapes[self.work.shape[self.attempts.job[attempt]]].preemptible

    # -- who is next ------------------------------------------------------------------------------

    def _fill(self, nodes: Sequence[int], now: int) -> None:
        """Starts what waits and fits on nodes that have gained room."""
        todo = list(nodes)
        while todo:
            node = todo.pop()
            pool = self.node_class[node]
            kept = self.reserved[pool]
            if kept and node in kept[1]:
                todo += self._start_reserved(pool, now)
                continue
            for number in self._candidates(pool, node):
                todo += self._drain_queue(pool, number, node, now)
            self._reserve(pool, now)

    def _candidates(self, pool: int, node: int) -> list[int]:
        """The shapes waiting in the pool that fit on the node, in order of priority of their heads."""
        gpus, cores, mem, shapes = self.gpus[node], self.cores[node], self.mem[node], self.work.shapes
        queues, asked, limit_s = self.queues[pool], self.asked, self.work.limit_s
        fit = [
            number
            for number in queues
            if shapes[number].gpus <= gpus and shapes[number].cores <= cores and shapes[number].mem_mib <= mem
        ]
        heads = {number: queues[number][0] for number in fit}
        fit.sort(key=lambda n: (shapes[n].preemptible, asked[heads[n]] + limit_s[heads[n]]))
        return fit

    def _drain_queue(self, pool: int, number: int, node: int, now: int) -> list[int]:
        """Starts jobs of one shape on the node while they fit; gives nodes this took out of keeping."""
        queue, shape, freed = self.queues[pool][number], self.work.shapes[number], []
        while queue:
            job = queue[0]
            if not self.waits[job]:
                queue.popleft()
                continue
            until = now + self.work.limit_s[job]
            if not self._fits(node, shape, until):
                break
            single = shape.nodes == 1 and not shape.partner
            chosen = (node,) if single else self._find(shape, until)
            if not chosen:
                break
            queue.popleft()
            kept = self.reserved[pool]
            if kept and kept[0] == job:
                freed += self._unreserve(pool)
            self._start(job, chosen, now)
        if not queue:
            del self.queues[pool][number]
        return freed

    def _reserve(self, pool: int, now: int) -> None:
        """Keeps nodes for the job that has waited longest, once that is too long."""
        if self.reserved[pool] or now < self.look_again[pool]:
            return
        self.look_again[pool] = now + 300
        shapes, oldest = self.work.shapes, None
        for number, queue in self.queues[pool].items():
            while queue and not self.waits[queue[0]]:
                queue.popleft()
            if queue and not shapes[number].preemptible and not shapes[number].partner:
                waited_since = self.eligible[queue[0]]
                if oldest is None or waited_since < oldest[0]:
                    oldest = (waited_since, queue[0], shapes[number])
        self.queues[pool] = {number: queue for number, queue in self.queues[pool].items() if queue}
        if oldest is None or now - oldest[0] < cal.PATIENCE_S:
            return
        _, job, shape = oldest
        until = now + self.work.limit_s[job]
        ready = sorted(
            (self._ready_at(node, shape, now), node)
            for node in self.pools[pool]
            if self.open[node] and (not self.closes_at[node] or until + 86400 < self.closes_at[node][-1])
        )
        if len(ready) >= shape.nodes:
            nodes = tuple(sorted(node for _, node in ready[: shape.nodes]))
            self.reserved[pool] = (job, nodes)
            for node in nodes:
                self.kept_for[node] = job

    def _ready_at(self, node: int, shape: Shape, now: int) -> int:
        """When the node will have room for the shape if every job on it runs to its limit."""
        gpus, cores, mem = self.gpus[node], self.cores[node], self.mem[node]
        attempts, work = self.attempts, self.work
        ends = sorted((attempts.start[a] + work.limit_s[attempts.job[a]], a) for a in self.on_node[node])
        at = now
        for end, attempt in ends:
            if gpus >= shape.gpus and cores >= shape.cores and mem >= shape.mem_mib:
                break
            held = work.shapes[work.shape[attempts.job[attempt]]]
            gpus, cores, mem, at = gpus + held.gpus, cores + held.cores, mem + held.mem_mib, end
        return at

    def _start_reserved(self, pool: int, now: int) -> list[int]:
        """Starts the job nodes are kept for if all of them are free enough; gives those nodes if so."""
        kept = self.reserved[pool]
        if not kept:
            return []
        job, nodes = kept
        shape = self.work.shapes[self.work.shape[job]]
        until = now + self.work.limit_s[job]
        if not all(self._fits(node, shape, until, job) for node in nodes):
            return []
        self._unreserve(pool)
        self._start(job, nodes, now)
        return list(nodes)

    def _unreserve(self, pool: int) -> list[int]:
        kept = self.reserved[pool]
        self.reserved[pool] = None
        nodes = list(kept[1]) if kept else []
        for node in nodes:
            self.kept_for[node] = -1
        return nodes
