"""The rules of the Gateway API: which objects are ours, what they want, and what they are told."""
