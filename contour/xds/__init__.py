"""Serving Envoy: resources in, xDS streams out; no request lost, no acceptance assumed.

`resources` is the contract with those who translate: they publish parts of resources to a
`fleet`. An `envoy` knows what one Envoy has and may have next; `delta` and `sotw` are the two
dialects of the protocol, free of I/O; `server` is the only module that touches grpc.
"""
