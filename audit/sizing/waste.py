"""What advice costs: whom it would have killed, and what it would have held for nothing."""

import numpy as np

from audit.sizing.attempts import Flags, Floats, Target
from audit.sizing.calibration import TINY


def killed(log_need: Floats, log_advised: Floats) -> Flags:
    """Attempts that needed more than was advised (NaN: kept as asked, never killed by us)."""
    found: Flags = log_need > log_advised + TINY
    return found


def waste(target: Target, log_need: Floats, log_advised: Floats, run_s: Floats) -> Floats:
    """Unit x seconds: (advised - need) x run time, and all that is advised x run time of the killed (NaN: unknown)."""
    need, advised = (np.where(logs <= np.log(target.floor), 0.0, np.exp(logs)) for logs in (log_need, log_advised))
    found: Floats = np.where(killed(log_need, log_advised), advised, advised - need) * run_s
    return found
