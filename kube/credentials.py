"""What a request needs beside its path: where the API server is, and what it is shown.

For `kube.access`, which says which of the ways is taken, and `kube.client`.
"""

import ssl
from typing import NamedTuple, Protocol


class Credentials(NamedTuple):
    """Good for requests until the API server refuses them or their source has newer ones."""

    url: str
    """Without a slash at its end."""
    authorization: str = ""
    """The header, empty if a client certificate or nobody speaks."""
    tls: ssl.SSLContext | None = None
    """Absent for plain HTTP."""
    server_name: str | None = None
    """The name the server's certificate must have, if it is not that of the URL."""
    proxy: str | None = None
    namespace: str = "default"
    """Of this pod, or of the kubeconfig's context."""


class Access(Protocol):
    """A source of credentials."""

    async def credentials(self, refused: Credentials | None = None) -> Credentials:
        """The newest there are; those that were refused are read again if they still are."""
        ...


class AccessError(Exception):
    """No credentials can be had, in words for whoever started the program."""
