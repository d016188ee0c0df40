"""Extension servers: the gRPC interface of Envoy Gateway's extensions, and a client for it.

An extension server is another team's program, in any language, that modifies xDS resources. This
package sends questions and reads replies. What is asked, when, and how a reply is used is decided
elsewhere: bytes go in and bytes come out.

- `wire`: the messages and methods, for the client and for the Python SDK.
- `client`: asks a server, and reports new connections.
- `replies`: reads a reply, which is not trusted, into its canonical form.
"""
