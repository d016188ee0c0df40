"""What extensions are asked about hosts, listeners and clusters, and what becomes of their replies.

A question is an answer of the graph, and a reply is a row: no rule waits for a server. A host goes
through the hooks of all extensions, one after the other; only when all have answered it is served
as they say. Until then it stays as it was last served. Elsewhere: who asks (`contour.asking`).

- `questions`: the questions, and the table of replies.
- `bare`: a host without what is ours, and what is ours put back.
- `trust`: what a reply must not say.
- `templates`: what is asked about a listener, and what its reply must not say.
- `lists`: what is asked about all clusters and Secrets at once, and what of its reply is served.
- `secrets`: Secrets without private keys, the keys put back, what a reply must not say of them.
- `passed`: the tables of clusters and Secrets that extensions have answered for.
- `chain`: the way of one host or listener through the hooks.
"""
