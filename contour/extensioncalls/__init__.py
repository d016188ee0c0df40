"""Asks extensions the questions of the graph, and writes their replies as rows.

- `rows`: what the controller keeps about hosts that extensions modify: last good states, statuses,
  and open questions.
- `translations`: the rows of the clusters and Secrets about which extensions have answered.
- `remembering`: which questions extensions have answered; the questions about all clusters depend
  on it.
- `conversation`: one extension: what it is asked, in which order, and how its replies are used.
- `troubles`: what is wrong with the answers of one extension.
- `asker`: all extensions of an instance, and when their first answers have arrived.
- `answers`: replies on disk, by the content of their questions.
- `lasting`: last good states on disk, of what waits for answers; `values` encodes them.
"""
