"""Which tests run one after the other, in one process, where several run at once."""

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

# By the folder or the file they stand in: tests with a real cluster, whose jobs use every core, and tests that sample
# real time; tests of one wheel, built once.
IN_TURN = {"tests/cluster/": "real time", "tests/collectors/": "real time", "tests/test_wheel.py": "wheel"}


class Turns(LoadScopeScheduling):
    """Hands out single tests, but those of IN_TURN to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return next((turn for place, turn in IN_TURN.items() if nodeid.startswith(place)), nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Turns:
    return Turns(config, log)
