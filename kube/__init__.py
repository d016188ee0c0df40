"""Talking to a Kubernetes API server: access, requests, list and watch, leader election.

For the controller and the operator alike; it knows neither, nor any kind of object.
"""
