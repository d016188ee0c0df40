"""Processes manifests without an instance: what a controller would do with them, and what they
lack."""
