"""The ContourConfiguration: its settings, errors in it, and the defaults."""
