from pathlib import Path

import pytest

from audit.sample import generate
from tests.sample.dump import Month


def make(folder: Path, **size: float) -> Month:
    """A month written below `folder`."""
    summary = generate(folder / "evidence", folder / "truth", **size)
    return Month(folder / "evidence", folder / "truth", summary)


@pytest.fixture(scope="session")
def month(tmp_path_factory) -> Month:
    """The month `audit demo` makes: 20,000 jobs, 100 GPUs, 30 days."""
    return make(tmp_path_factory.mktemp("month"))


@pytest.fixture(scope="session")
def sampled(tmp_path_factory) -> Month:
    """A week whose peaks were taken by a sampler every two minutes; a throttled array waits at its end."""
    return make(tmp_path_factory.mktemp("sampled"), jobs=3000, gpus=40, days=7, seed=4, sampling_s=120)
