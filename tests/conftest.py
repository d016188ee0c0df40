"""What all tests may ask for, and what those need that drive an Envoy."""

import gc
import os
import shutil
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from contour import process
from contour.host import errors, installation

settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")  # no test judges the time that it takes

# A script lets what it starts with `&` ignore SIGINT, and whatever the tests start would ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.cluster.fixtures", "tests.testbed.measuring"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the garbage collector from the thousands of tests, which stay: a third less to compute
    while they are collected, a sixth less afterwards. What tests leave it looks for less often,
    which is an eighth of what tests without other processes compute."""
    with process.without_collections():
        found = yield
        gc.collect()
        gc.set_threshold(10_000, 20, 20)
        return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the tests that drive an Envoy or a browser where there is none; in CI they fail."""
    if os.environ.get("CI"):
        return
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        _skip(items, "browser", "no Chromium (Debian: apt-get install chromium chromium-driver)")
    try:
        installation.binary()
    except errors.NotInstalledError as error:
        _skip(items, "envoy", str(error))


def _skip(items: list[pytest.Item], marker: str, reason: str) -> None:
    skipped = pytest.mark.skip(reason=reason)
    for it in items:
        if it.get_closest_marker(marker):
            it.add_marker(skipped)
