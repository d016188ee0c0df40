"""Extension servers: the gRPC interface of Envoy Gateway's extensions, and a client of it.

An extension server is another team's program, in any language, that modifies xDS resources. This
package knows how it is asked and how its replies are read. What is asked, when, and what becomes
of a reply is decided elsewhere: bytes go in and bytes come out.

- `wire`: the messages and methods, for the client and for the Python SDK.
- `client`: asks a server, and tells of its connections.
- `replies`: reads a reply, which is not trusted, into its canonical form.
"""
