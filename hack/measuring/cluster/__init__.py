"""`contour serve` under measurement: an API server, replicas and Envoys, each in its own process.

The API server is a real one (`site`) or the tests' double, whose faults are scripted (`stage`). The
measuring process generates the load; it sends requests to the API server through `caller`, which
shares no code with the product's client.
"""
