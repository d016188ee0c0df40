"""What extensions are asked about hosts, listeners and clusters, and how their replies are used.

A question is an answer of the graph, and a reply is a row: no rule waits for a server. A host
passes the hooks of all extensions, one after the other; it is served as modified only when all have
answered. Until then it stays as it was last served. Elsewhere: the calls
(`contour.extensioncalls`).

- `questions`: the questions, and the table of replies.
- `stripping`: removes our own configuration from a host, and restores it.
- `trust`: what a reply must not say.
- `templates`: what is asked about a listener, and what a reply must not say.
- `lists`: what is asked about all clusters and Secrets at once, and what of a reply is served.
- `secrets`: removes private keys from Secrets and restores them; what a reply must not say of them.
- `passed`: the tables of the clusters and Secrets about which extensions have answered.
- `chain`: takes one host or listener through the hooks.
"""
