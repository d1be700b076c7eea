"""The node program: one step (check, install, status, segments, clear, remove, accounting) per run.

`entry.sh … VERB REQUEST`: REQUEST is JSON in base64, so nothing in it meets a shell. Answers one line of JSON.
Exit status: 0 done and nothing changed, 3 done and something changed, 5 not done (the answer's `error` says why).
Python 3.6 and its standard library only.
"""

import base64
import json
import sys
import zipfile

import asked
import away
import look
import place
import put
import sweep
import take

VERBS = {
    "check": look.check,
    "install": put.install,
    "status": look.status,
    "segments": take.segments,
    "clear": take.clear,
    "remove": away.remove,
    "accounting": asked.accounting,
    "nodes": asked.nodes,
    "unstage": asked.unstage,
}


def main(argv):
    """Runs one step; answers its exit status."""
    request = json.loads(base64.b64decode(argv[2]).decode("utf-8")) if len(argv) > 2 else {}
    try:
        with zipfile.ZipFile(argv[0]) as archive:
            answer, changed = VERBS[argv[1]](request, archive)
    except (place.Failed, OSError) as failed:
        print(json.dumps({"error": str(failed)}))
        return 5
    sweep.sweep(0 if argv[1] == "remove" else sweep.CUT_S)
    print(json.dumps(answer))
    return 3 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
