"""Tells when the next sample is due, and when the wall clock was stepped. Touches nothing.

Samples are due at whole multiples of the sampling interval of wall time; each wait is reckoned anew, so that
nothing adds up.
"""

import signal
import time

# Time since boot, time asleep included; `time` has its name from Python 3.7 on only.
CLOCK_BOOTTIME = 7
STEP_S = 1.0
_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def mono_s() -> float:
    """Seconds since boot."""
    return time.clock_gettime(CLOCK_BOOTTIME)


class Clock:
    """The ticks of the sample loop."""

    def __init__(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP)
        self.offset_s = time.time() - mono_s()

    def wait(self, until_s: float, most_s: float) -> bool:
        """Sleeps until that wall time, but never longer than `most_s`, since the wall clock may just have been stepped
        back; False as soon as the process is asked to end."""
        told = signal.sigtimedwait(_STOP, min(most_s, max(0.0, until_s - time.time())))
        # A process that was stopped and goes on is answered without a signal.
        return told is None or told.si_signo not in _STOP

    def step_s(self) -> float:
        """By how many seconds the wall clock was stepped since the last call; 0 for what slewing does."""
        offset_s = time.time() - mono_s()
        step_s, self.offset_s = offset_s - self.offset_s, offset_s
        return step_s if abs(step_s) > STEP_S else 0.0


def following(now_s: float, every_s: float) -> float:
    """The first whole multiple of `every_s` after `now_s`."""
    return (int(now_s / every_s + 1e-9) + 1) * every_s
