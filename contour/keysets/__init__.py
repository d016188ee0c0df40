"""The key sets and discovery documents of issuers: fetched from their servers, renewed, and kept.

`keeper` decides when each wanted one is fetched, `slots` how many are fetched at a time; `fetching`
asks one server once; `store` keeps the last good ones on this machine, `shared` those of an
instance in a cluster. Which ones are wanted is an answer of the graph, and what has been fetched is
a row (`dag.references.keysets`).
"""
