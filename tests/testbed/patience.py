"""How long tests wait for something to happen: long, since the machine may be busy.

It is only for waits for something that must happen. How long to wait for something that must *not*
happen is up to each test.
"""

import os

VARIABLE = "CONTOUR_TEST_PATIENCE"
"""An environment variable; mutation tests shorten it, since under mutants tests wait in vain."""

PATIENCE = float(os.environ.get(VARIABLE, "120"))  # seconds

EARLY = 0.005
"""Seconds by which Envoy's timers may be early: they count from when its event loop woke up, which
is a moment before it reads the request."""
