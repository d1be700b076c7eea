#!/usr/bin/python3 -IS
"""Uses memory and CPU of a known size, for the jobs of the test cluster."""

import argparse
import mmap
import os
import sys
import time
from pathlib import Path

PAGE = 4096
MIB = 1 << 20


def memory(mib, sharing):
    """That much memory, touched."""
    area = mmap.mmap(-1, max(int(mib * MIB), 1), flags=sharing | mmap.MAP_ANONYMOUS)
    for at in range(0, len(area), PAGE):
        area[at] = 1
    return area


def own_anon_mib():
    """What the interpreter itself holds."""
    with Path("/proc/self/status").open() as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("RssAnon:"))


def cache(mib, path):
    """Reads a file of that size that was written just before: page cache."""
    with path.open("wb+") as file:
        path.unlink()
        for _ in range(mib):
            file.write(b"x" * MIB)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        while file.read(MIB):
            pass
        return os.dup(file.fileno())  # the cache lives as long as the file does


def spin(until_s):
    """Works until this process has used that much CPU since it started."""
    while time.process_time() < until_s:
        sum(range(2000))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anon-mib", type=int, default=0, help="in all, the interpreter's own included")
    parser.add_argument("--shm-mib", type=int, default=0)
    parser.add_argument("--file-mib", type=int, default=0)
    parser.add_argument("--spike-mib", type=int, default=0, help="held for one second, before the CPU is used")
    parser.add_argument("--cpu-s", type=float, default=0, help="of all processes together, their start included")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--hold-s", type=float, default=0, help="all is held that long at the end")
    parser.add_argument("--note", help="a file that is made when all was used that is asked for")
    parser.add_argument("--exit", type=int, default=0)
    asked = parser.parse_args()

    held = [cache(asked.file_mib, Path(f"/var/tmp/burn-{os.getpid()}"))] if asked.file_mib else []
    held.append(memory(asked.shm_mib, mmap.MAP_SHARED))
    held.append(memory(max(asked.anon_mib - own_anon_mib(), 0), mmap.MAP_PRIVATE))
    if asked.spike_mib:
        time.sleep(asked.hold_s / 2)
        spike = memory(asked.spike_mib, mmap.MAP_PRIVATE)
        time.sleep(1)
        spike.close()
    share_s = asked.cpu_s / asked.processes
    children = []
    for _ in range(asked.processes - 1):
        child = os.fork()
        if child == 0:
            spin(share_s)
            os._exit(0)
        children.append(child)
    spin(share_s)
    for child in children:
        os.waitpid(child, 0)
    if asked.note:
        Path(asked.note).touch()
    time.sleep(asked.hold_s)
    sys.exit(asked.exit)


main()
