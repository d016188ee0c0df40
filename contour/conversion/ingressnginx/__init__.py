"""Ingresses of ingress-nginx, converted to HTTPProxies.

`hosts` makes one HTTPProxy of all that the Ingresses say of a host, `routes` the routes of one
path, `paths` their conditions; `annotations` is the table of what each annotation becomes. Which
annotations there are, and what they do: `dag.foreign.nginx`.
"""
