"""What all tests may ask for."""

pytest_plugins = ["tests.cluster.fixtures", "tests.testbed.measuring"]
