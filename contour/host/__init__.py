"""The host infrastructure: an Envoy on this machine, as a supervised child process.

For `contour run`. It needs neither root nor a cluster: a private state directory holds its sockets
and files, ports below 1024 move up, and Envoy ends whenever the process that started it ends,
however that ends. What Envoy is told is elsewhere: its bootstrap is a text handed in, the rest is
xDS. Everything that goes wrong and that a user can put right is a `host.Error`.
"""

from contour.host.envoy import ADMIN, EnvoyOptions, EnvoyProcess
from contour.host.errors import Error

__all__ = ["ADMIN", "EnvoyOptions", "EnvoyProcess", "Error"]
