"""The xDS resources of exported Services, for gRPC clients and servers without a proxy.

gRPC supports a part of Envoy's configuration (gRFC A27, A28, A47), and refuses more of the rest
than it ignores. So these resources have translators of their own. For the rules see
`dag/exports.py` and `dag/gateway/servicehosts.py`. `queries` has the tracked queries, `messages`
the protobuf messages for clients, `servers` those for servers, `security` TLS for both, `spellings`
the names.
"""
