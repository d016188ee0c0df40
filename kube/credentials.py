"""What a request needs beside its path: the address of the API server, and credentials for it.

For `kube.access`, which chooses the source, and `kube.client`.
"""

import ssl
from typing import NamedTuple, Protocol


class Credentials(NamedTuple):
    """Credentials, valid until the API server refuses them or their source has newer ones."""

    url: str
    """Without a slash at its end."""
    authorization: str = ""
    """The header; empty with a client certificate, or without any credentials."""
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
        """The newest credentials; if these are the `refused` ones, they are read again."""
        ...


class AccessError(Exception):
    """No credentials are available; the message is for whoever started the program."""
