"""The rows of the fault table: scripts that are tried again and again, with a seed.

A script sets up, does the damage, proves that the damage was done, and expects what the row says.
`pytest -m fault --runs 20 --seed 1` runs all of them, `--row f22` one; what came of a full pass is
in README.md.
"""
