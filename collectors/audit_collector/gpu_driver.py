"""Keeps the driver open and its cards read: what is lost is named, tried again with growing pauses, named when back.

A call into the driver can hang for ever. So the polls run in a thread of their own, the only one the collector has:
a poll that does not answer in time costs GPU values and nothing else.
"""

import threading

from audit_collector import nvml
from audit_collector.dcgm import Profiling

RETRY_FIRST_S = 60.0
RETRY_LAST_S = 600.0
RETRY_ABSENT_S = 300.0


class Driver:
    """The cards of this node. Only `poll` works on it, in one thread."""

    def __init__(self, library: object, root: str) -> None:
        """`library`: path of the driver library, None for the system's own; `root` prefixes /proc."""
        self.library = library
        self.profiling, self.profiling_told = Profiling(root), None
        self.nvml = None
        self.cards, self.lost = [], {}  # lost: name (its uuid, unless it never told) -> why
        self.names = {}  # index -> uuid
        self.version, self.failure, self.refused, self.told = None, None, {}, set()
        self.retry_at, self.pause_s = 0.0, RETRY_FIRST_S

    def poll(self, now_s: float, mono_s: float) -> tuple:
        """(readings, events): one Reading per card that answers; events = [(kind, text)]."""
        events, readings = [], []
        if (self.nvml is None or self.lost) and mono_s >= self.retry_at:
            self._open(mono_s, events)
        for card in self.cards if self.nvml is not None else ():
            try:
                readings.append(card.read(now_s, mono_s))
            except nvml.Failed as failed:
                if failed.driver:
                    self._driver_lost(str(failed), mono_s, events)
                    break
                self._card_lost(card.uuid, str(failed), mono_s, events)
        if self.nvml is not None:
            self.cards = [
                card for card in self.cards if card.uuid not in self.lost or self._back(card, readings, events)
            ]
        for name in sorted(set(self.refused) - self.told):
            self.told.add(name)
            events.append(("degraded", "%s: %s" % (name, self.refused[name])))
        if readings:
            self._profile(readings, mono_s, events)
        return readings, events

    def _profile(self, readings: list, mono_s: float, events: list) -> None:
        shares = self.profiling.poll(mono_s)
        for reading in readings:
            reading.profiling = shares.get(reading.uuid)
        if self.profiling.state not in ("ok", self.profiling_told):
            events.append(("dcgm_absent", self.profiling.state))
        self.profiling_told = self.profiling.state

    def _open(self, mono_s: float, events: list) -> None:
        before = {card.uuid: card for card in self.cards}
        self.close()
        self.retry_at = mono_s + self.pause_s
        self.pause_s = min(self.pause_s * 2, RETRY_LAST_S)
        try:
            self.nvml = nvml.load(self.library)
            self.cards = self._find(before, mono_s, events)
        except nvml.Failed as failed:
            self.nvml, self.cards = None, []
            if not self.lost:
                self.retry_at = mono_s + RETRY_ABSENT_S
                if str(failed) != self.failure:
                    events.append(("gpu_absent", str(failed)))
            self.failure = str(failed)
            return
        self.failure = None

    def _find(self, before: dict, mono_s: float, events: list) -> list:
        try:
            self.version = self.nvml.nvmlSystemGetDriverVersion()
            count = self.nvml.nvmlDeviceGetCount()
        except self.nvml.NVMLError as error:
            raise nvml.Failed(nvml.error_name(self.nvml, error), True) from error
        found = []
        for index in range(count):
            name = self.names.get(index, "index %d" % index)
            try:
                card = nvml.Card(self.nvml, self.nvml.nvmlDeviceGetHandleByIndex(index), index, self.refused)
            except self.nvml.NVMLError as error:
                self._card_lost(name, nvml.error_name(self.nvml, error), mono_s, events)
                continue
            except nvml.Failed as failed:
                if failed.driver:
                    raise
                self._card_lost(name, str(failed), mono_s, events)
                continue
            self.names[index] = card.uuid
            if name != card.uuid and name in self.lost:
                self.lost[card.uuid] = self.lost.pop(name)  # until it has been read
            if card.uuid in before:
                card.util_after_us = before[card.uuid].util_after_us
            found.append(card)
        return found

    def _card_lost(self, name: str, why: str, mono_s: float, events: list) -> None:
        if name not in self.lost:
            events.append(("gpu_lost", "%s %s" % (name, why)))
            self.pause_s = RETRY_FIRST_S
            self.retry_at = mono_s + self.pause_s
        self.lost[name] = why

    def _driver_lost(self, why: str, mono_s: float, events: list) -> None:
        for card in self.cards:
            self._card_lost(card.uuid, why, mono_s, events)
        self.failure = why
        self.close()

    def _back(self, card: object, readings: list, events: list) -> bool:
        if not any(reading.uuid == card.uuid for reading in readings):
            return False
        del self.lost[card.uuid]
        events.append(("gpu_back", card.uuid))
        return True

    def close(self) -> None:
        """Let go of the driver; what fails then does not matter any more."""
        if self.nvml is not None:
            try:
                self.nvml.nvmlShutdown()
            except self.nvml.NVMLError:
                pass
            self.nvml = None

    def leave(self) -> None:
        """Let go of everything, at the end."""
        self.close()
        self.profiling.close()


class Poller:
    """Runs a function in a thread of its own and waits for its answer no longer than `deadline_s`."""

    def __init__(self, function: object, deadline_s: float) -> None:
        """The thread starts with the first call."""
        self.function, self.deadline_s = function, deadline_s
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.thread, self.arguments, self.answer, self.out = None, (), None, False
        self.broken = None

    def call(self, *arguments: object) -> list:
        """[(arguments, answer)]: of this call if it answers in time, before it of an earlier one that was late."""
        answers = []
        if self.out:
            if not self.done.acquire(False):
                return answers
            answers.append((self.arguments, self.answer))
        if self.thread is None:
            self.thread = threading.Thread(target=self._run, name="nvml")
            self.thread.daemon = True
            self.thread.start()
        self.arguments, self.answer, self.out = arguments, None, True
        self.go.release()
        if self.done.acquire(True, self.deadline_s):
            self.out = False
            answers.append((self.arguments, self.answer))
        return answers

    def _run(self) -> None:
        while True:
            self.go.acquire()
            try:
                self.answer = self.function(*self.arguments)
            except Exception as error:  # whatever a broken driver makes the bindings do, the node's other values go on
                said, self.broken = self.broken, "%s: %s" % (type(error).__name__, error)
                self.answer = ([], [("gpu_lost", self.broken)] if said != self.broken else [])
            self.done.release()
