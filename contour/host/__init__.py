"""Runs an Envoy on this machine, as a supervised child process.

For `contour run`. It needs neither root nor a cluster: a private state directory has its sockets
and files, ports below 1024 are mapped to higher ones, and Envoy ends with the process that started
it, however that ends. Envoy's configuration comes from elsewhere: its bootstrap is passed in as a
text, the rest comes by xDS. Errors that a user can fix are raised as `host.Error`.
"""

from contour.host.envoy import ADMIN, EnvoyOptions, EnvoyProcess
from contour.host.errors import Error

__all__ = ["ADMIN", "EnvoyOptions", "EnvoyProcess", "Error"]
