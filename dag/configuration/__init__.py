"""The ContourConfiguration: what it says, what is wrong with it, and the defaults."""
