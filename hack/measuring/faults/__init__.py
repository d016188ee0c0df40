"""The rows F01 to F75 of the fault table: one small script each, run again and again with a seed.

A script sets up, does the damage, proves that the damage was done, and expects what the row says.
`hack/chaos f21 --runs 20 --seed 1` runs one of them; `hack/measuring/chaos/faults.py` makes their
names known. What came of a full pass is in README.md.
"""
