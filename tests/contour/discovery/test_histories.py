"""Whatever happens to an EnvoyConfig, in the end it is as the rules say; `histories` runs more."""

import pytest

from tests.contour.discovery import histories


@pytest.mark.parametrize("seed", range(25))
def test_every_history_ends_as_the_rules_say(seed: int) -> None:
    histories.check(seed)
