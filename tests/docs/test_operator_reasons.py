"""The document of the operator names every reason that it writes."""

from itertools import chain
from pathlib import Path

import pytest

from contour_operator import reasons
from provisioning.keeping import problems

TEXT = Path(__file__).parents[2].joinpath("docs/operator.md").read_text()
_OF_FLEETS = {problems.Reason.NO_AUTHORITY}  # the operator makes the authority itself


@pytest.mark.parametrize("reason", sorted({*chain(reasons.Reason, problems.Reason)} - _OF_FLEETS))
def test_a_reason_is_documented(reason: str) -> None:
    assert f"`{reason}`" in TEXT
