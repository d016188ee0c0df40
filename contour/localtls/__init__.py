"""`contour run --tls auto`: certificates for TLS hosts whose Secret no file defines.

`wanted` finds these hosts, `authorities` keeps the local authorities that sign, and `keeper` makes
Secrets, which become rows like those of files. No other service is involved: clients have to trust
a local authority.
"""
