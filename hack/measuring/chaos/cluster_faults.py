"""Makes the scripts of faults of the API server, its objects and the election known."""

from hack.measuring.faults import apiserver, apiserver_starts, leadership, objects, statuses

__all__ = ["apiserver", "apiserver_starts", "leadership", "objects", "statuses"]
