"""Translates the nodes of the rules into Envoy's protobuf messages, encoded, in parts.

For the xDS server and for commands that print configuration. It has pure functions from nodes to
messages, and tracked queries that call them. What a node means is decided in `dag`; which Envoy
gets which part when, in `contour.xds`.
"""
