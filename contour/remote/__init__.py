"""Asks instances in a cluster, from outside, with the rights of the user.

`instances` finds them by their pods, `asking` reaches the debug port of a pod through the API
server, `objects` reads what an instance reads.
"""
