"""EnvoyConfig: which revision of which resources the Envoys of a node ID are served.

`content` are the values that an EnvoyConfig comes to once its texts are read (`contour.rawconfig`,
which knows protobuf, writes them as rows). `claims` decides whose a node ID is, `revisions` which
content is served, `references` what Secrets and EndpointSlices it needs, `status` what is told.
"""
