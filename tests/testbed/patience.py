"""How long tests wait for what takes a moment: long, since the machine may have much else to do.

Only what waits for something to come has this patience. What must *not* come is waited for as long
as the test says.
"""

import os

VARIABLE = "CONTOUR_TEST_PATIENCE"
"""Of the environment; for mutants, whose tests wait for what never comes."""

PATIENCE = float(os.environ.get(VARIABLE, "120"))  # seconds

EARLY = 0.005
"""Seconds by which Envoy's timers may be early: they count from when its event loop woke up, and it
reads the request a moment later."""
