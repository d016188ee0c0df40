"""A client of the Kubernetes API server: access, requests, list and watch, leader election.

For the controller and the operator alike; it depends on neither, nor on any kind of object.
"""
