"""Who asks extensions what the graph wants to know, and writes their replies as rows.

- `rows`: what the controller keeps of hosts that extensions shape: last good states, statuses, the
  questions that are open.
- `translations`: the rows of clusters and Secrets that extensions have answered for.
- `remembering`: which questions extensions have answered, as those about all clusters need it.
- `conversation`: one extension; what it is asked, in which order, and what its replies come to.
- `troubles`: what is wrong with the answers of one extension.
- `asker`: all extensions of an instance, and when the first of their answers are there.
- `answers`: replies on disk, by the content of their questions.
- `lasting`: last good states on disk, of what waits; as `values` writes them.
"""
