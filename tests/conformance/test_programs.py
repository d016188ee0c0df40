"""What we claim, against the names that the suite has for it, and what its releases are made of."""

import os

import pytest

from dag.gateway import features
from tests import golang
from tests.conformance import programs
from tests.conformance.programs import RELEASES

OLDER = "v1.6.1"


@pytest.mark.parametrize("version", RELEASES)
def test_every_feature_that_we_claim_is_one_of_the_suite(version: str) -> None:
    try:
        known = RELEASES[version].features()
    except golang.MissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the suite's features: {error}")
    claimed = set(features.claimed(features.Installed(has_names_of_1_7=version != OLDER)))
    assert claimed <= known
    assert not {it for it in known if it.startswith("Mesh")} & claimed


@pytest.mark.parametrize("version", RELEASES)
def test_suite_and_crds_are_of_one_version(version: str) -> None:
    home = RELEASES[version].home
    assert golang.required(home, programs.MODULE) == version
    assert golang.required(home, programs.API) == version


def test_programs_of_different_sources_do_not_share_a_place() -> None:
    every = [it for each in RELEASES.values() for it in (each.suite, *each.servers.values())]
    assert len({it.path.parent for it in every}) == len(every) == 5
