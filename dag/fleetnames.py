"""The name of the shared fleet; a module without imports, for commands that start in pods."""

DEFAULT_FLEET = "contour"
"""The fleet of Ingress and HTTPProxy, and in mode `Single` of the Gateway in charge."""
