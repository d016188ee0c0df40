"""The document of the operator names every reason that it writes, and every role that it binds."""

from itertools import chain
from pathlib import Path

import pytest

from contour_operator import reasons
from provisioning import manifests
from provisioning.keeping import problems

TEXT = Path(__file__).parents[2].joinpath("docs/operator.md").read_text()
_OF_FLEETS = {problems.Reason.NO_AUTHORITY}  # the operator makes the authority itself


@pytest.mark.parametrize("reason", sorted({*chain(reasons.Reason, problems.Reason)} - _OF_FLEETS))
def test_a_reason_is_documented(reason: str) -> None:
    assert f"`{reason}`" in TEXT


@pytest.mark.parametrize("role", [it["metadata"]["name"] for it in manifests.cluster_roles()])
def test_a_role_that_it_may_bind_is_documented(role: str) -> None:
    _, _, rights = TEXT.partition("## Rights\n")
    assert f"`{role}`" in rights
