"""`audit teardown`: takes every collector away and looks again whether anything is left."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from audit.fleet.ansible import Reach, Told, ask
from audit.fleet.answer import Answer
from audit.fleet.collect import fetch, held
from audit.fleet.deployment import Deployment, save, who
from audit.fleet.slice import Target
from audit.workspace import Workspace

_TAIL_S = 3600


@dataclass(frozen=True)
class Removed:
    """What became of one node: clean, or what is left there and why."""

    host: str
    left: tuple[str, ...] = ()
    uncollected: int = 0
    error: str = ""

    @property
    def clean(self) -> bool:
        """Whether nothing of ours is there any more, as far as was looked."""
        return not self.error and not self.left


def teardown(
    workspace: Workspace, deployment: Deployment, reach: Reach, *, discard: bool, take_over: bool, told: Told
) -> list[Removed]:
    """Removes; the hosts proved clean are struck from the deployment, so a rerun does the others."""

    def asked(targets: Sequence[Target]) -> dict[str, Answer]:
        requests = {
            target.host: {
                "who": who(),
                "engagement": deployment.engagement,
                "take_over": take_over,
                "discard": discard,
                "have": held(workspace, target.host),
            }
            for target in targets
        }
        return ask("teardown", requests, reach, told=told)

    answers = asked(deployment.targets)
    # Stopped, a collector closes what it wrote since `collect` was here: that much is brought home, then it goes.
    tails = [target for target in deployment.targets if not discard and _is_tail(answers[target.host])]
    if tails:
        fetch(workspace, tails, reach, told)
        answers |= asked(tails)
    removed = [_removed(answer, discard) for answer in answers.values()]
    save(workspace, deployment.without({node.host for node in removed if node.clean}))
    return removed


def _is_tail(answer: Answer) -> bool:
    """Whether what is not collected was all opened within the last hour, that is, after a `collect`."""
    names = answer.texts("uncollected")
    opened = [re.search(r"-(\d{1,12})-[0-9a-f]+\.seg\.gz$", name) for name in names]
    since_s = time.time() - _TAIL_S
    return bool(names) and all(at is not None and int(at[1]) >= since_s for at in opened)


def _removed(answer: Answer, discard: bool) -> Removed:
    uncollected = 0 if discard else len(answer.texts("uncollected"))
    error = answer.error
    if not error and uncollected:
        error = f"{uncollected} segments are not collected: `audit collect` first, or --discard; it is stopped"
    return Removed(answer.host, answer.texts("left"), uncollected, error)
