"""What `contour run` says on the terminal: what is served, and what each change of a file did.

`news` finds out what to report, `wording` makes lines of it, `pacing` limits their number, and
`terminal` writes them to standard error. Statuses come from the board; Envoy's answers tell when it
has a change.
"""
