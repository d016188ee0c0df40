"""Rate limit services: what they are told, and one of our own in a process of its own.

`messages` are what a service is told over xDS. Ours is told it as the real one is
(envoyproxy/ratelimit): `limits` finds the limit of a request, `counting` counts, `redis` counts for
several services, `service` answers Envoys, `subscription` follows the xDS server, and `__main__` is
the process, which is given its `settings`. `child` starts that process and keeps it running.
"""
