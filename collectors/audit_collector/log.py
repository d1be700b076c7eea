"""Keeps what happened until the next interval is written. Touches nothing."""

import time

LARGEST_EVENTS = 100
LARGEST_DEGRADED = 50
LARGEST_TEXT = 300


class Log:
    """Events that wait for their interval, and what could not be read, told once each."""

    def __init__(self) -> None:
        self.events = []
        self.left_out = 0
        self.not_read = []

    def event(self, kind: str, text: str) -> None:
        """Something happened now. Above a hundred per interval they are only counted."""
        if len(self.events) >= LARGEST_EVENTS:
            self.left_out += 1
            return
        self.events.append((round(time.time(), 3), kind, text[:LARGEST_TEXT]))

    def degraded(self, text: str) -> None:
        """Something cannot be read; `text` says what, and what would make it readable."""
        if text not in self.not_read and len(self.not_read) < LARGEST_DEGRADED:
            self.not_read.append(text)
            self.event("degraded", text)

    def take(self) -> list:
        """The events so far; they are forgotten."""
        events, self.events = self.events, []
        if self.left_out:
            events.append((round(time.time(), 3), "late", "%d more events were left out" % self.left_out))
            self.left_out = 0
        return events
