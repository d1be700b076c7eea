"""When users submit: single jobs and arrays, by the rhythm of the day and the week."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from audit.sample import calibration as cal
from audit.sample.population import Families, Floats, Ints

LONGEST_ARRAY = 200


@dataclass(frozen=True)
class Arrivals:
    """One entry a job: its family, submission (epoch), burst, and task index (-1: not in an array)."""

    family: Ints
    submit: Ints
    burst: Ints
    task: Ints


def draw(families: Families, jobs: int, start: int, end: int, rng: np.random.Generator) -> Arrivals:
    """`jobs` jobs between two epochs, in order of submission."""
    mean_burst = np.array([kind.burst for kind in cal.KINDS])[families.kind]
    expected = float((families.weight * mean_burst).sum())
    bursts = int(jobs / expected * 1.6) + 200
    family = rng.choice(len(families.weight), size=bursts, p=families.weight)
    size = np.minimum(rng.geometric(1 / mean_burst[family]), LONGEST_ARRAY)
    is_array = (mean_burst[family] > 1) & (size > 1)
    last = min(bursts, int(np.searchsorted(np.cumsum(size), jobs)) + 1)
    family, size, is_array = family[:last], size[:last], is_array[:last]
    size[-1] = max(1, size[-1] - (int(size.sum()) - jobs))
    moments = np.sort(_moments(last, start, end, rng))
    burst = np.repeat(np.arange(last), size)
    task = np.arange(len(burst)) - np.repeat(np.cumsum(size) - size, size)
    return Arrivals(family[burst], moments[burst], burst, np.where(is_array[burst], task, -1))


def _moments(count: int, start: int, end: int, rng: np.random.Generator) -> Ints:
    """Epochs between start and end, as dense as the rhythm of hours and days says."""
    hours = np.arange(start, end, 3600)
    zone = ZoneInfo(cal.TIME_ZONE)
    first = datetime.fromtimestamp(start, zone)
    local = [first + timedelta(hours=hour) for hour in range(len(hours))]
    rate = np.array([cal.HOUR_RHYTHM[t.hour] * cal.DAY_RHYTHM[t.weekday()] for t in local])
    edges = np.append(hours, end)
    mass: Floats = np.append(0.0, np.cumsum(rate * np.diff(edges)))
    moments: Ints = np.interp(rng.random(count) * mass[-1], mass, edges).astype(np.int64)
    return moments
