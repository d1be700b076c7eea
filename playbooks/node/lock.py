"""One engineer at a time: a folder on the node that only one can make, with a line that says who."""

import os
import shutil
import time

import place

STALE_S = 600


class Lock:
    """Held while a step changes the node; a lock older than ten minutes was left by a cut connection."""

    def __init__(self, who):
        self._who = who

    def __enter__(self):
        for _ in range(2):
            try:
                os.mkdir(place.LOCK, 0o700)
                break
            except FileExistsError:
                self._wait_no_longer()
        else:
            raise place.Failed("another deployment took the node's lock just now: run this again")
        with open(place.LOCK + "/who", "w") as file:
            file.write(self._who)
        return self

    def __exit__(self, *failure):
        shutil.rmtree(place.LOCK, ignore_errors=True)

    @staticmethod
    def _wait_no_longer():
        try:
            age_s = time.time() - os.stat(place.LOCK).st_mtime
        except OSError:
            return
        if -STALE_S < age_s < STALE_S:
            who = (place.content(place.LOCK + "/who") or b"somebody").decode("utf-8", "replace")[:200]
            raise place.Failed("%s is at this node since %d s: wait, then run this again" % (who, max(0, age_s)))
        shutil.rmtree(place.LOCK, ignore_errors=True)
