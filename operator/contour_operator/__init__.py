"""Provisioning it: the operator that runs instances of the controller."""
