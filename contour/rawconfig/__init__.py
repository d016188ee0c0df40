"""EnvoyConfig: users' texts become xDS resources for the Envoys of a node ID.

`reading` compares the texts with the protobuf definitions (`contour.envoy.parsing`), and `snapshot`
makes parts of them. `serving` publishes them to the fleets, notes what Envoys accept and refuse,
and keeps the revisions. Which revision is served is decided in `dag.rawconfig`.
"""
