"""Objects that a leader makes for a ContourConfiguration, keeps as they should be, and removes.

For the operator, which makes control planes, and for instances, which make fleets of Envoys.
"""
