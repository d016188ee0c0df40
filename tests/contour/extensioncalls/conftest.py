"""What tests of this folder may ask for."""

import pytest

from contour.extensioncalls import conversation
from tests.testbed.patience import PATIENCE


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No question is asked again because its answer takes long: for tests that count them all, on a
    machine that may have much else to do."""
    for seconds in ("_PROBES", "_LOST"):
        monkeypatch.setattr(conversation, seconds, PATIENCE)
