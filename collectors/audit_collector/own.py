"""What the collector itself costs, and its caps. Reads /proc/self/statm."""

import os
import time

SHARE_OVER_S = 600.0
SLOWEST = 8
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def cpu_s() -> float:
    """CPU seconds of this process and of the commands it waited for."""
    times = os.times()
    return time.process_time() + times[2] + times[3]


def rss_bytes() -> int:
    """Resident memory of this process."""
    with open("/proc/self/statm", "rb") as opened:
        return int(opened.read().split()[1]) * _PAGE_BYTES


class Caps:
    """Says when the collector must go slower, and when it must end."""

    def __init__(self, settings: object, mono_s: float) -> None:
        self.settings = settings
        self.slower = 1
        self.at_s = mono_s
        self.cpu_s = cpu_s()
        self.share = None

    def check(self, mono_s: float, spool_bytes: int) -> tuple:
        """(why it must end or None, why it goes slower or None); once per interval."""
        settings = self.settings
        rss = rss_bytes()
        if rss > settings.max_rss_bytes:
            return "memory: %d of %d bytes" % (rss, settings.max_rss_bytes), None
        if spool_bytes > settings.max_disk_bytes:
            return "disk: %d of %d bytes" % (spool_bytes, settings.max_disk_bytes), None
        span_s = mono_s - self.at_s
        used_s = cpu_s()
        if span_s > 0:
            self.share = (used_s - self.cpu_s) / span_s
        if span_s < SHARE_OVER_S:
            return None, None
        share, self.at_s, self.cpu_s = self.share, mono_s, used_s
        if share <= settings.max_cpu_share:
            return None, None
        text = "CPU: %.4f of a core over %d s, %.4f allowed" % (share, span_s, settings.max_cpu_share)
        if self.slower >= SLOWEST:
            return text, None
        self.slower *= 2
        return None, text
