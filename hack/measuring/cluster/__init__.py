"""`contour serve` under measurement: an API server, replicas and Envoys, each in its own process.

The API server is a real one (`site`) or the tests' double, whose faults are scripted (`stage`).
Whoever measures is the load generator, in a process of its own; it asks the API server through
`caller`, which shares no code with the product's client.
"""
