"""Rate limit services: their configuration, and a service of our own in a separate process.

`messages` defines the configuration over xDS, which is the same for ours and for
envoyproxy/ratelimit. In ours, `limits` finds the limit of a request, `counting` counts, `redis`
counts for several services, `service` answers Envoys, `subscription` follows the xDS server, and
`__main__` is the process, which gets its `settings` at the start. `child` starts that process and
keeps it running.
"""
