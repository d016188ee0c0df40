"""What `contour run` says on the terminal: what is served, and what each change of a file did.

`news` finds out what is to be told, `wording` makes lines of it, `pacing` bounds how many there
are, `terminal` writes them wherever standard error leads. The statuses come from the board; when
Envoy has a change, from its answers.
"""
