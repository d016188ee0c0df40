"""`contour run --tls auto`: certificates for hosts that want TLS and whose Secret no file defines.

`wanted` finds these hosts, `authorities` keeps the local authorities that sign, and `keeper` makes
Secrets of it that go into the tables like those of files. Nothing is asked of anybody: who is to
trust the certificates has to trust a local authority.
"""
