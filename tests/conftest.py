"""What all tests may ask for, and what those need that drive an Envoy."""

import os

import pytest
from hypothesis import HealthCheck, settings

from contour.host import errors, installation

settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")  # no test judges the time that it takes

pytest_plugins = ["tests.cluster.fixtures", "tests.testbed.measuring"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the tests that drive an Envoy where there is none; in CI they fail."""
    try:
        installation.binary()
    except errors.NotInstalledError as error:
        if not os.environ.get("CI"):
            skipped = pytest.mark.skip(reason=str(error))
            for it in items:
                if it.get_closest_marker("envoy"):
                    it.add_marker(skipped)
