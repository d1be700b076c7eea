"""How long both learned models of one target take to be fitted in full, on 20,000 made-up attempts. Prints JSON."""

import json
import sys
import time

import numpy as np

from audit.sizing.attempts import TARGETS, Attempts, Floats, problem
from audit.sizing.features import anchor, features, see
from audit.sizing.known import Known
from audit.sizing.learned import LEARNED
from audit.sizing.training import MOST_FITTED


def main() -> int:
    """Measures and prints."""
    drawn = np.random.default_rng(1)
    n = MOST_FITTED + 2000
    submit_s = np.sort(drawn.uniform(0, 30 * 86_400, n))
    user = (drawn.zipf(1.5, n) % 200).astype(np.int64)
    name = user * 8 + drawn.integers(0, 8, n)
    run_s: Floats = np.exp(drawn.normal(7, 1.5, n))
    cores: Floats = np.exp2(drawn.integers(0, 7, n))
    need: Floats = np.exp(20 + (name % 50) / 10 + drawn.normal(0, 0.3, n)) * np.sqrt(cores)
    asked: Floats = np.exp2(np.ceil(np.log2(need) + drawn.uniform(0.5, 3, n)))
    attempts = Attempts(
        submit_s,
        submit_s + 60,
        submit_s + 60 + run_s,
        run_s,
        user,
        name,
        name % 4,
        cores,
        asked,
        np.zeros(n),
        run_s * 4,
    )
    made = problem(TARGETS["memory"], attempts, need, is_bound=np.zeros(n, dtype=bool), asked=asked)
    known = Known(made)
    seen = see(made, known)
    learns = known.by_end[-MOST_FITTED:]
    x, over = features(seen)[learns], (made.log_need - anchor(seen))[learns]
    spent = {}
    for kind, learned in LEARNED.items():
        started = time.perf_counter()
        learned.fit(x, over)
        spent[kind] = round(time.perf_counter() - started, 2)
    print(json.dumps({"attempts": len(learns), "by_model_s": spent, "fit_s": round(sum(spent.values()), 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
