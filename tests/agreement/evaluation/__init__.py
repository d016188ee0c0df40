"""The evaluator against Envoy: generated worlds, generated requests, and no disagreement.

`worlds` makes objects of all three APIs that share hosts, `asking` requests that they might serve,
`comparing` sends each one through a real Envoy and compares the answer with the evaluation.
"""
