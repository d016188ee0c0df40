"""Keeps the objects that a leader makes for a ContourConfiguration: makes, repairs, removes them.

Used by the operator, which makes control planes, and by instances, which make fleets of Envoys.
"""
