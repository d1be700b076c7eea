"""The GPUs of a node for the sample loop: polls the driver, tells which job holds each card, gives an interval's rows.

Reads the driver library, /dev (whether there is a card) and the devices cgroups of jobs; writes nothing.
"""

import os

from audit_collector import gpu_span
from audit_collector.gpu_holders import Holders, jobs_of
from audit_collector.gpu_span import MigSpan, Span, plus

COLUMNS = {"gpu": gpu_span.GPU, "gpu_job": gpu_span.GPU_JOB, "mig": gpu_span.MIG}
LOOK_AGAIN_S = 300.0
COUNTERS = ("energy_j", "nvlink_rx_bytes", "nvlink_tx_bytes")
NO_ANSWER_S = 20.0  # silent for longer than this (and two samples): lost
CLOCK_STEP_S = 1.0


class Track:
    """What is known of one card between polls."""

    def __init__(self, uuid: str) -> None:
        """Nothing is known yet."""
        self.uuid, self.minor, self.index = uuid, None, None
        self.span, self.migs, self.devices = None, {}, {}
        self.rows = []  # finished, in this interval
        self.at_s = self.util_at_s = None  # last poll; end of the last activity sample
        self.shares_at = {}  # column -> time of the last profiling value
        self.counters = {}  # column -> value at the last poll

    def finish(self, to_s: float) -> None:
        """End the running rows at `to_s`."""
        if self.span is not None and self.span.samples and to_s > self.span.from_s:
            self.rows.append(("gpu", self.span.gpu_row(self.uuid, self.minor, self.index, to_s)))
            self.rows.extend(("gpu_job", row) for row in self.span.job_rows(self.uuid, to_s))
        for uuid in list(self.migs):
            self._finish_mig(uuid, to_s)
        self.span, self.migs = None, {}

    def _finish_mig(self, uuid: str, to_s: float) -> None:
        span = self.migs.pop(uuid)
        if span.samples and to_s > span.from_s:
            self.rows.append(("mig", span.row(self.uuid, self.devices[uuid], to_s)))

    def lose(self) -> None:
        """The card does not answer: its rows end with its last poll, its counters start anew."""
        if self.at_s is not None:
            self.finish(self.at_s)
        self.span, self.migs = None, {}
        self.at_s = self.util_at_s = None
        self.shares_at, self.counters = {}, {}

    def poll(self, now_s: float, reading: object, holders: Holders, jobs: object, changed_s: object) -> None:
        """Count one reading."""
        self.minor, self.index = reading.minor, reading.index
        holder, source, per_job = holders.of(reading.minor, reading.processes, jobs)
        before, since_s = self.span, self.at_s
        at_s = now_s
        if before is None:
            self.span = Span(now_s, holder, source)
        elif (before.holder, before.source) != (holder, source):
            at_s = _moment(before.holder, holder, holders.since_of(holder), since_s, now_s, changed_s)
            self.span = Span(at_s, holder, source)
        self._between(before if before is not None else self.span, self.span, since_s, at_s, now_s, reading)
        if before is not None and before is not self.span:
            after, self.span, migs, self.migs = self.span, before, self.migs, {}
            self.finish(at_s)
            self.span, self.migs = after, migs
        self.span.poll(reading, per_job)
        self._poll_migs(now_s, reading, jobs)
        self.at_s = now_s

    def _between(self, before: Span, after: Span, since_s: object, at_s: float, now_s: float, reading: object) -> None:
        """Share out what happened since the last poll: to the row until `at_s`, and to the one after."""
        for percent, start_s, end_s in self._activity(since_s, now_s, reading):
            for span, length in ((before, min(end_s, at_s) - start_s), (after, end_s - max(start_s, at_s))):
                span.util.add(percent, length)
            if reading.util:
                (before if end_s <= at_s else after).util_samples += 1
        if since_s is not None:
            for span, length in ((before, at_s - since_s), (after, now_s - at_s)):
                if reading.reasons is not None and length > 0:
                    throttled = bool(reading.reasons & gpu_span.THROTTLED_BITS)
                    span.throttled_s = plus(span.throttled_s, length if throttled else 0.0)
                self._counters(span, length / (now_s - since_s) if now_s > since_s else 0.0, reading)
        for name, (share, known_s) in (reading.profiling or {}).items():
            # The engine's value stands for the time since its last one.
            amount = (before if known_s <= at_s else after).profiling.setdefault(name, gpu_span.Amount())
            amount.add(share, known_s - self.shares_at.get(name, known_s))
            self.shares_at[name] = known_s
        for name in COUNTERS:
            self.counters[name] = getattr(reading, name)

    def _counters(self, span: Span, share: float, reading: object) -> None:
        """Add what each counter went on by; a row of which a part is not known (no answer, set to zero) has no sum."""
        if share <= 0:
            return
        for name in COUNTERS:
            earlier, now = self.counters.get(name), getattr(reading, name)
            known = earlier is not None and now is not None and now >= earlier
            if not known:
                span.broken.add(name)
            else:
                span.counters[name] = span.counters.get(name, 0) + (now - earlier) * share

    def _activity(self, since_s: object, now_s: float, reading: object) -> object:
        """(percent, from, to) of each of the driver's samples, which lasts since the one before; else of the poll."""
        if not reading.util:
            if reading.util_now is not None and since_s is not None:
                yield reading.util_now, since_s, now_s
            return
        times = [at for at, _ in reading.util]
        gaps = sorted(times[i] - times[i - 1] for i in range(1, len(times)))
        spacing = gaps[len(gaps) // 2] if gaps else 1.0
        last = self.util_at_s
        for at, percent in reading.util:
            # What fell out of the driver's buffer before this poll is not stretched over by the sample after it.
            start = at - spacing if last is None else max(last, at - 2 * spacing)
            yield percent, start, at
            last = at
        self.util_at_s = last

    def _poll_migs(self, now_s: float, reading: object, jobs: object) -> None:
        seen = set()
        for device, used, total, processes in reading.instances or ():
            if used is None and processes is None:
                continue  # taken apart since the devices were listed
            holder = ",".join(sorted(jobs_of(processes, jobs))) or None
            span = self.migs.get(device.uuid)
            if span is not None and span.holder != holder:
                self._finish_mig(device.uuid, now_s)
                span = None
            if span is None:
                span = self.migs[device.uuid] = MigSpan(now_s, holder)
            self.devices[device.uuid] = device
            seen.add(device.uuid)
            span.poll(used, total, processes)
        for uuid in [uuid for uuid in self.migs if uuid not in seen]:
            self._finish_mig(uuid, now_s)


def _moment(old: object, new: object, began_s: object, since_s: object, now_s: float, changed_s: object) -> float:
    """When a card went from holder `old` to `new`: at the new job's start, else as early as it can have been."""
    if since_s is None:
        return now_s
    for known in (began_s if new is not None else None, changed_s):
        if known is not None and since_s <= known <= now_s:
            return known
    return since_s if old is None else now_s


class Gpus:
    """Every GPU of the node. `settings`: nvml_library, sample_s; `root` prefixes /dev; `log_event(kind, text)`.

    `jobs` of `sample` has `job_of_pid(pid)` -> job id or None, and `devices`: (job, when its cgroup was made, its v1
    devices folder or None) of every job on the node.
    """

    def __init__(self, settings: object, root: str, log_event: object) -> None:
        """Nothing is opened before the first sample."""
        self.library, self.log_event = settings.nvml_library, log_event
        self.sample_s = settings.sample_s
        self.root = root
        self.driver = self.poller = None
        self.tracks, self.holders = {}, Holders()
        self.look_at = self.changed_s = self.silent_since = self.offset = None
        self.silent = False

    def sample(self, now_s: float, mono_s: float, jobs: object) -> None:
        """Poll every card once; costs nothing where there is no driver."""
        if self.poller is None and not self._present(mono_s):
            return
        self._clock(now_s, mono_s)
        for (asked_s, _), (readings, events) in self.poller.call(now_s, mono_s):
            for kind, text in events:
                self.log_event(kind, text)
            # What was asked before a long silence says nothing of the time since.
            if not self.silent or asked_s == now_s:
                self._take(asked_s, readings, jobs)
        if self.poller.out:
            self._no_answer(mono_s)

    def _take(self, now_s: float, readings: list, jobs: object) -> None:
        if self.silent:
            self.silent = False
            self.log_event("gpu_back", "the driver answers again")
        self.silent_since = None
        self.holders.look(jobs)
        for reading in readings:
            track = self.tracks.get(reading.uuid)
            if track is None:
                track = self.tracks[reading.uuid] = Track(reading.uuid)
            track.poll(now_s, reading, self.holders, jobs, self.changed_s)
        answered = {reading.uuid for reading in readings}
        for uuid, track in self.tracks.items():
            if uuid not in answered and track.at_s is not None:
                track.lose()
        self.changed_s = None

    def cut(self, at_s: float) -> None:
        """The jobs on the node changed at `at_s`: where the next sample finds another holder, a row ends there."""
        self.changed_s = at_s

    def rows(self, from_s: float, to_s: float) -> list:
        """[(kind, fields)] of the interval that ends at `to_s`; the next rows begin there."""
        found = []
        for track in self.tracks.values():
            span, migs = track.span, dict(track.migs)
            track.finish(to_s)
            for kind, row in track.rows:
                at = COLUMNS[kind].index("from_s")
                found.append((kind, (*row[:at], max(row[at], from_s), *row[at + 1 :])))
            track.rows = []
            if span is not None:
                track.span = Span(to_s, span.holder, span.source)
                track.migs = {uuid: MigSpan(to_s, mig.holder) for uuid, mig in migs.items()}
        return found

    def close(self) -> None:
        """Let go of the driver (not when it hangs)."""
        if self.poller is not None and not self.poller.out:
            self.driver.leave()

    def summary(self) -> dict:
        """{"gpus", "nvml": "ok", "absent" or "failed: …", "driver", "dcgm", "not_read": {call: why}} for status."""
        driver = self.driver
        if driver is None:
            return {"gpus": 0, "nvml": "absent", "driver": None, "dcgm": "absent", "not_read": {}}
        state = "ok"
        if self.silent:
            state = "failed: no answer"
        elif driver.failure is not None:
            state = "failed: " + driver.failure
        elif driver.lost:
            state = "failed: " + ", ".join("%s %s" % pair for pair in sorted(driver.lost.items()))
        return {
            "gpus": len(driver.cards),
            "nvml": state,
            "driver": driver.version,
            "dcgm": driver.profiling.state,
            "not_read": dict(driver.refused),
        }

    def _present(self, mono_s: float) -> bool:
        if self.look_at is not None and mono_s < self.look_at:
            return False
        self.look_at = mono_s + LOOK_AGAIN_S
        if self.library is None and not os.path.exists(os.path.join(self.root, "dev/nvidia0")):
            return False
        from audit_collector.gpu_driver import Driver, Poller

        self.driver = Driver(self.library, self.root)
        self.poller = Poller(self.driver.poll, min(2.0, self.sample_s / 2.0))
        return True

    def _clock(self, now_s: float, mono_s: float) -> None:
        offset = now_s - mono_s
        if self.offset is not None and abs(offset - self.offset) > CLOCK_STEP_S:
            for track in self.tracks.values():
                track.at_s, track.util_at_s, track.shares_at = None, None, {}
                for span in [track.span, *track.migs.values()]:
                    if span is not None:
                        span.from_s = now_s
        self.offset = offset

    def _no_answer(self, mono_s: float) -> None:
        if self.silent_since is None:
            self.silent_since = mono_s
        waited = mono_s - self.silent_since
        if not self.silent and waited > max(NO_ANSWER_S, 2 * self.sample_s):
            self.silent = True
            self.log_event("gpu_lost", "no answer from the driver for %d s" % waited)
            for track in self.tracks.values():
                track.lose()
