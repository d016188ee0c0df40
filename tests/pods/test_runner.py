"""A runner of pods that fails says why, to whoever waits for it."""

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import Start
from tests.pods import fixtures, runner
from tests.pods.balancing import Balancing


async def _fail(_: Balancing) -> None:
    raise RuntimeError("no rules")


def test_what_fails_in_a_runner_is_what_its_user_is_told(
    start_control_plane: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixtures.demand()
    monkeypatch.setattr(Balancing, "run", _fail)
    cluster = Cluster(start_control_plane().folder)
    with pytest.raises(ExceptionGroup) as found, runner.running(cluster) as pods:
        pods.until(lambda _: False)
    assert found.group_contains(RuntimeError, match="no rules")
