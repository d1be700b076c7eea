"""Removes the temporary folders in which a cut connection left an earlier copy of this program."""

import os
import re
import shutil
import stat
import sys
import time

CUT_S = 600
TEMPORARY = re.compile(r"ansible-tmp-[0-9.]+-[0-9]+-[0-9]+")


def sweep(older_s):
    """Of the folders beside this program's own: those of the same account that hold nothing but this program."""
    own = os.path.dirname(os.path.abspath(sys.argv[0]))
    name = os.path.basename(sys.argv[0])
    beside = os.path.dirname(own)
    if not TEMPORARY.fullmatch(os.path.basename(own)):
        return  # not started by Ansible
    for entry in os.listdir(beside):
        path = os.path.join(beside, entry)
        try:
            at = os.lstat(path)
            ours = stat.S_ISDIR(at.st_mode) and at.st_uid == os.lstat(own).st_uid and TEMPORARY.fullmatch(entry)
            if ours and path != own and time.time() - at.st_mtime >= older_s and os.listdir(path) in ([], [name]):
                shutil.rmtree(path, ignore_errors=True)
        except OSError:
            continue
