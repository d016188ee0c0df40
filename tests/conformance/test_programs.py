"""What we claim, against the names that the suite has for it."""

import os

import pytest

from dag.gateway import features
from tests import golang
from tests.cluster import assets
from tests.conformance import programs


def test_every_feature_that_we_claim_is_one_of_the_suite() -> None:
    try:
        known = programs.features()
    except golang.MissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the suite's features: {error}")
    claimed = set(features.claimed(features.Installed(has_names_of_1_7=False)))
    assert claimed <= known
    assert not {it for it in known if it.startswith("Mesh")} & claimed


def test_suite_and_crds_are_of_one_version() -> None:
    assert programs.version() == golang.required(assets.GATEWAY_API, programs.API)


def test_programs_of_different_sources_do_not_share_a_place() -> None:
    paths = {it.path for it in (programs.SUITE, programs.ECHO, programs.DNS)}
    assert len({it.parent for it in paths}) == 3
