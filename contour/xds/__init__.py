"""The xDS server: resources in, xDS streams out, without losing requests or assuming acceptance.

`resources` is the contract with translators, which publish parts of resources to a `fleet`. An
`envoy` knows what one Envoy has and may get next; `delta` and `sotw` are the two variants of the
protocol, without I/O; `server` is the only module that uses gRPC.
"""
