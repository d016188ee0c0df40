"""EnvoyConfig: which revision of an EnvoyConfig the Envoys of a node ID get.

`content` are the values that an EnvoyConfig comes to once its texts are read (`contour.rawconfig`,
which knows protobuf, writes them as rows). `claims` decides which EnvoyConfig owns a node ID,
`revisions` which content is served, `references` what Secrets and EndpointSlices it needs; `status`
makes the status.
"""
