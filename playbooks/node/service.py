"""Starts and stops the collector: by systemd where that runs, else by an init script of its own."""

import os
import signal
import time

import place

STARTS_S = 20
STOPS_S = 20


def start():
    """Starts it, at boot too; Failed where it does not come alive."""
    if place.has_systemd():
        place.run(["systemctl", "daemon-reload"])
        place.run(["systemctl", "reset-failed", place.SERVICE]) if _failed() else None
        place.run(["systemctl", "enable", "--now", place.SERVICE])
    else:
        place.run([place.INIT, "start"])
    end = time.time() + STARTS_S
    while True:
        status = place.collector("status")
        if status.get("alive") or status.get("ended") == "window":
            return
        if time.time() > end:
            why = status.get("ended") or "it says nothing"
            raise place.Failed("the collector was started and does not run: %s" % why)
        time.sleep(0.2)


def _failed():
    try:
        place.run(["systemctl", "is-failed", "--quiet", place.SERVICE])
    except place.Failed:
        return False
    return True


def stop():
    """Stops it; what it held is written before it ends. What does not end in 20 s is killed."""
    if place.has_systemd():
        if os.path.exists(place.UNIT):
            place.run(["systemctl", "disable", "--now", place.SERVICE])
    elif os.path.exists(place.INIT):
        place.run([place.INIT, "stop"])
    for number in (signal.SIGTERM, signal.SIGKILL):
        end = time.time() + STOPS_S
        left = place.processes()
        for process in left:
            try:
                os.kill(process, number)
            except OSError:
                continue
        while left and time.time() < end:
            time.sleep(0.1)
            left = place.processes()
        if not left:
            return
    raise place.Failed("processes %s do not end" % left)
