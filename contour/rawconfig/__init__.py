"""EnvoyConfig: texts that users write become resources of xDS, and go to the Envoys of a node ID.

`reading` compares what is written with the protobuf definitions (`contour.envoy.parsing`), and
`snapshot` makes parts of it. `serving` hands them to the fleets, notes what Envoys make of them,
and keeps the revisions. Which revision is served is decided in `dag.rawconfig`.
"""
