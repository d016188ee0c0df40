"""The tools that tests, the demonstration and the measurements share: one of each kind."""
