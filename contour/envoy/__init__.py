"""Translation: the nodes of the rules as Envoy's protobuf messages, encoded, in parts.

For the xDS server and for whoever prints a configuration. Pure functions from nodes to messages,
and above them the tracked queries (`parts`) that `plan` lists for the engine. What a node means is
decided in `dag`; which Envoy gets which part when, in `contour.xds`.
"""
