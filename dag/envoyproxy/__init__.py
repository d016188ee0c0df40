"""EnvoyProxy: the settings of a fleet that it changes, and what is wrong with it."""
