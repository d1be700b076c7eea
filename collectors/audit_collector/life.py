"""The sample loop of a collector, from its start to the window's end: intervals, gaps, caps, restarts.

One thread, no child in the node role. Touches DIR/spool; the roles read /proc and /sys.
"""

import os
import time

from audit_collector import VERSION, state
from audit_collector.clock import Clock, following, mono_s
from audit_collector.files import read_or_none
from audit_collector.log import Log
from audit_collector.own import Caps, cpu_s, rss_bytes
from audit_collector.segments import Segment, file_prefix, lines_of
from audit_collector.spool import Removed, Spool

EXIT_ENDED, EXIT_CAP = 0, 3
# A sample this little late is taken as on time: its figures are told for the whole second it was due at.
ON_TIME_S = 0.25
_SAME_S = 0.002


class Life:
    """One run of the collector."""

    def __init__(self, folder: str, settings: object, roles: list, root: str) -> None:
        os.umask(0o077)
        self.settings = settings
        self.root = root
        self.clock = Clock()
        self.spool = Spool(folder)
        self.spool.lock()
        self.state = state.load(self.spool)
        self.state.begin(settings.from_s)
        self.log = Log()
        self.roles = roles
        self.started_s = self._now()
        self.boot_id = (
            (read_or_none(root + "/proc/sys/kernel/random/boot_id") or b"").decode("ascii", "replace").strip()
        )
        self.caps = Caps(settings, mono_s())
        self.sample_s = settings.sample_s
        self.parts = []
        self.segments = {}
        self.gaps = []
        self.full = False
        self.since = None
        self.state_bytes = 0
        self.earlier_bytes = self.state.own_written_bytes

    def run(self) -> int:
        """Until the window's end, a cap, or being asked to end; the exit status."""
        settings = self.settings
        for role in self.roles:
            prefix = file_prefix(settings.node, role.role)
            self.segments[role.role] = Segment(self.spool, role.open_name, prefix, {})
        self._heal()
        now_s = self._now()
        if now_s >= settings.to_s:
            # What the heal had to say has no interval to be written in: `status` shows the end.
            return self._end("window", EXIT_ENDED)
        self.parts = [role(settings, self.root, self.log) for role in self.roles]
        self._resume()
        self._save()
        if not self._wait_for_window():
            return self._end("stopped", EXIT_ENDED)
        return self._loop()

    def _loop(self) -> int:
        settings = self.settings
        now_s = self._now()
        self.clock.step_s()
        if self.state.first_s is None:
            self.state.first_s = now_s
        if self.since and now_s > self.since[0]:
            self._gap(self.since[0], now_s, self.since[1])
        self._start_interval(now_s, mono_s())
        self._sample(now_s)
        while True:
            due_s = min(following(self.last_s, self.sample_s), settings.to_s)
            go_on = self.clock.wait(due_s, self.sample_s)
            step_s = self.clock.step_s()
            now_s = self._now()
            if step_s:
                self._stepped(step_s)
            late_s = now_s - due_s - step_s
            if not go_on:
                return self._stop(now_s)
            if not step_s:
                self._count_late(late_s, due_s)
                now_s = due_s if 0 <= late_s < min(ON_TIME_S, self.sample_s / 4) else now_s
            self._sample(now_s)
            ended = now_s >= settings.to_s
            if ended:
                self.log.event("window_end", "the window is over")
            too_large = rss_bytes() > settings.max_rss_bytes
            if ended or now_s >= self.close_s or (too_large and now_s > self.from_s):
                reason = None if ended else self._check()
                self._close_interval(now_s)
                if ended:
                    return self._end("window", EXIT_ENDED)
                if reason:
                    return self._end("cap: " + reason, EXIT_CAP)
            if self._asked_to_rotate():
                if now_s > self.from_s:
                    self._close_interval(now_s)
                self._rotate()

    def _stop(self, now_s: float) -> int:
        self.log.event("stop", "asked to end")
        self._sample(now_s)
        if now_s > self.from_s:
            self._close_interval(now_s)
        return self._end("stopped", EXIT_ENDED)

    def _sample(self, now_s: float) -> None:
        at_s = mono_s()
        for part in self.parts:
            part.sample(now_s, at_s)
        self.last_s = now_s
        self.samples += 1

    def _count_late(self, late_s: float, due_s: float) -> None:
        skipped = int(late_s / self.sample_s)
        if skipped:
            self.log.event("late", "%d samples were not taken for %.3f s" % (skipped, late_s))
        if late_s >= 2 * self.sample_s:
            # What was not sampled is a gap from the last sample on: the interval before it ends there.
            now_s, last_s = due_s + late_s, self.last_s
            if last_s > self.from_s:
                self._close_interval(last_s)
            self._gap(last_s, now_s, "paused" if late_s >= self.settings.interval_s else "late")
            self._start_interval(now_s, mono_s())
        self.missed += skipped
        self.late_max_s = max(self.late_max_s, late_s)

    def _stepped(self, step_s: float) -> None:
        """Ends the interval in the old time; the next begins in the new."""
        self.log.event("clock", "the wall clock was stepped by %+.3f s" % step_s)
        last_s = self.last_s
        if last_s > self.from_s:
            self._close_interval(last_s)
        for part in self.parts:
            part.shift(step_s)
        if step_s > 0:
            self._gap(last_s, last_s + step_s, "clock")
        self.last_s = round(last_s + step_s, 3)
        self._start_interval(self.last_s, mono_s())

    def _start_interval(self, from_s: float, at_s: float) -> None:
        self.from_s, self.from_mono_s = from_s, at_s
        self.close_s = following(from_s, self.settings.interval_s)
        self.samples = self.missed = 0
        self.late_max_s = 0.0
        self.from_cpu_s = cpu_s()
        self.from_written = self._written()

    def _close_interval(self, to_s: float) -> None:
        """Writes the interval that ends at `to_s` and starts the next."""
        if not self.spool.is_in_place():
            raise Removed("%s: was removed or replaced while the collector ran" % self.spool.path)
        room = self._has_room()
        events, gaps, self.gaps = self.log.take(), self.gaps, []
        for part in self.parts:
            segment = self.segments[part.role]
            polls, jobs, unmapped, busy = part.counts()
            rows = part.rows(self.from_s, to_s)
            own = (round(cpu_s() - self.from_cpu_s, 6), rss_bytes(), self._written() - self.from_written)
            polls = self.samples if polls is None else polls
            head = (self.from_s, to_s, round(self.from_mono_s, 3), polls, self.missed, round(self.late_max_s, 3))
            text = (
                lines_of("interval", [head + own + (jobs, unmapped, busy)])
                + rows
                + lines_of("event", events)
                + lines_of("gap", gaps)
            )
            segment.header = self._header(part)
            segment.add(text, self.from_s, to_s, room)
            if not segment.waiting:
                self._name_lost(segment)
        waiting = [segment.waiting[0][1] for segment in self.segments.values() if segment.waiting]
        if bool(waiting) != self.full:
            self.full = bool(waiting)
            free = self.spool.free_bytes()
            self.log.event("disk_full" if waiting else "disk_back", "%d bytes free for the spool" % free)
        self.state.watched_s += to_s - self.from_s
        self.state.last_s = min([to_s] + waiting)
        self.state.late_max_s = round(max(self.state.late_max_s, self.late_max_s), 3)
        self.state.missed += self.missed
        self._start_interval(to_s, mono_s())
        self._save()
        for part in self.parts:
            if self.segments[part.role].is_due(to_s):
                self._close(part)

    def _name_lost(self, segment: object) -> None:
        """What was lost of a segment is a gap, told by the next interval that is written."""
        if segment.lost is not None:
            (from_s, to_s, reason), segment.lost = segment.lost, None
            self._gap(from_s, to_s, reason)
            self.state.watched_s -= to_s - from_s

    def _header(self, part: object) -> dict:
        settings = self.settings
        header = {
            "format": 1,
            "collector": VERSION,
            "node": settings.node,
            "cluster": settings.cluster,
            "role": part.role,
            "boot_id": self.boot_id,
            "sample_s": self.sample_s,
            "interval_s": settings.interval_s,
            "window_from_s": settings.from_s,
            "window_to_s": settings.to_s,
        }
        header.update(part.header())
        return header

    def _gap(self, from_s: float, to_s: float, reason: str) -> None:
        self.gaps.append((round(from_s, 3), round(to_s, 3), reason))
        self.state.gap(from_s, to_s, reason)

    def _check(self) -> object:
        """Why the collector must end now, or None; slows it down where it costs too much CPU."""
        reason, slower = self.caps.check(mono_s(), self.spool.size_bytes())
        if slower:
            self.sample_s *= 2
            self.log.event("slower", "sampling every %g s from now: %s" % (self.sample_s, slower))
        if reason:
            self.log.event("cap", "ends: " + reason)
        return reason

    def _has_room(self) -> bool:
        return self.spool.free_bytes() >= self.settings.min_free_disk_bytes

    def _written(self) -> int:
        return self.state_bytes + sum(segment.written_bytes for segment in self.segments.values())

    def _asked_to_rotate(self) -> bool:
        try:
            os.stat("rotate", dir_fd=self.spool.fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    def _rotate(self) -> None:
        for part in self.parts:
            self._close(part)
        self.spool.remove("rotate")

    def _close(self, part: object) -> None:
        self.segments[part.role].close()
        part.new_segment()

    def _heal(self) -> None:
        """Closes what an earlier run left open; what it had written last is where this one goes on."""
        self.spool.remove("rotate")
        lead = "node" if "node" in self.segments else "controller"
        for role, segment in self.segments.items():
            cut_bytes = segment.heal(self._catch_up if role == lead else None)[1]
            if cut_bytes:
                self.log.event("torn", "%d bytes of an unfinished interval were cut off" % cut_bytes)

    def _catch_up(self, spans: list) -> None:
        """What reached its segment counts: the state may be older (killed between the two) or newer (power lost)."""
        state, last_s = self.state, spans[-1][1]
        if state.last_s is not None and abs(last_s - state.last_s) < _SAME_S:
            return
        if state.last_s is not None and state.first_s is not None:
            state.watched_s -= max(0.0, state.last_s - last_s)
            for from_s, to_s in reversed(spans):
                if to_s <= state.last_s:
                    break
                state.watched_s += to_s - from_s
        # The counters in the state are of another moment.
        state.last_s, state.jobs = last_s, []
        self._try_save()

    def _resume(self) -> None:
        """Names the gap since an earlier run, and goes on with the jobs it knew."""
        state = self.state
        same_boot = state.boot_id == self.boot_id
        last_s = state.last_s or 0.0
        if not last_s:
            self.log.event("start", "started, version " + VERSION)
        else:
            reason = "reboot" if not same_boot else "killed" if state.ended is None else "paused"
            if not same_boot:
                self.log.event("reboot", "the node was started anew")
            self.log.event("restart", "started again, version " + VERSION)
            # What an earlier window did not see is no gap of this one.
            self.since = (last_s, reason) if last_s > self.settings.from_s else None
            if same_boot:
                for part in self.parts:
                    part.restore(state.jobs, last_s)
        state.boot_id = self.boot_id
        state.ended = None

    def _wait_for_window(self) -> bool:
        while self._now() < self.settings.from_s:
            if not self.clock.wait(self.settings.from_s, 5.0):
                return False
            if self._asked_to_rotate():
                self._rotate()
        return True

    def _save(self) -> None:
        state = self.state
        state.own_written_bytes = self.earlier_bytes + self._written()
        state.jobs = [one for part in self.parts for one in part.baselines()]
        state.now = {
            "pid": os.getpid(),
            "started_s": round(self.started_s, 3),
            "own_cpu_share": None if self.caps.share is None else round(self.caps.share, 6),
            "own_rss_bytes": rss_bytes(),
            "degraded": self.log.not_read,
        }
        for part in self.parts:
            state.now.update(part.summary())
        self._try_save()

    def _try_save(self) -> None:
        try:
            self.state_bytes += self.state.save(self.spool)
        except OSError:
            # The disk is full: the state stays as it was, the next interval tries again.
            self.spool.remove("state.new")

    def _end(self, ended: str, code: int) -> int:
        for segment in self.segments.values():
            segment.close()
            self._name_lost(segment)
        for part in self.parts:
            part.close()
        self.state.ended = ended
        self._save()
        return code

    def _now(self) -> float:
        return round(time.time(), 3)
