"""The key sets and discovery documents of issuers: fetched from their servers, renewed, and kept.

`keeper` knows which ones are wanted and when each is due, `slots` how many are fetched at a time,
`fetching` asks one server once, `store` keeps the last good ones on this machine, `shared` those of
an instance in a cluster. Which ones are wanted is an answer of the graph, and what has been fetched
is a row of it (`dag.references.keysets`).
"""
