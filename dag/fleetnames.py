"""The name of the fleet that no user names; it imports nothing, for commands that start in pods."""

DEFAULT_FLEET = "contour"
"""The fleet of Ingress and HTTPProxy, and in mode `Single` of the Gateway in charge."""
