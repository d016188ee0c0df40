"""What gRPC clients and servers without a proxy are told: exported Services in the words of xDS.

gRPC takes a part of what Envoy takes (gRFC A27, A28, A47), and refuses more than it ignores. So
these resources have translators of their own. For the rules see `dag/exports.py` and
`dag/gateway/servicehosts.py`. `queries` is what the graph keeps, `messages` the protobuf messages
for clients, `servers` those for servers, `security` what both are told of TLS, `spellings` the
names.
"""
