"""Instances in a cluster, asked from elsewhere with the rights of whoever asks.

`instances` finds them by their pods, `asking` reaches the debug port of a pod through the API
server, `objects` reads what an instance reads.
"""
