"""Access from within a pod: its service account's token and authority, as the kubelet mounts them.

The kubelet renews the token about every hour and swaps the files beneath a link; two `stat`s
before each request notice it (Kubernetes documentation, "Accessing the API from a Pod").
"""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from kube.credentials import AccessError, Credentials

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_Signature = tuple[tuple[int, int, int], ...]


class Pod:
    """The access that every pod has by its service account."""

    def __init__(self, environ: Mapping[str, str], folder: Path = FOLDER) -> None:
        self._environ = environ
        self._folder = folder
        self._signature: _Signature = ()
        self._credentials: Credentials | None = None

    @property
    def is_here(self) -> bool:
        """This process runs in a pod with a service account."""
        return bool(self._environ.get("KUBERNETES_SERVICE_HOST")) and self._token.exists()

    async def credentials(self, refused: Credentials | None = None) -> Credentials:
        """What the files hold now."""
        try:
            signature = _signature(self._token), _signature(self._authority)
            known = self._credentials
            if known is None or known is refused or signature != self._signature:
                self._credentials = known = self._read()
                self._signature = signature
        except (OSError, ssl.SSLError, UnicodeDecodeError) as error:
            raise AccessError(f"service account in {self._folder}: {error}") from None
        return known

    def _read(self) -> Credentials:
        host = self._environ.get("KUBERNETES_SERVICE_HOST", "")
        port = self._environ.get("KUBERNETES_SERVICE_PORT", "443")
        namespace = self._folder / "namespace"
        return Credentials(
            url=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
            authorization=f"Bearer {self._token.read_text().strip()}",
            tls=ssl.create_default_context(cafile=str(self._authority)),
            namespace=namespace.read_text().strip() if namespace.exists() else "default",
        )

    @property
    def _token(self) -> Path:
        return self._folder / "token"

    @property
    def _authority(self) -> Path:
        return self._folder / "ca.crt"


def _signature(file: Path) -> tuple[int, int, int]:
    found = os.stat(file)
    return found.st_ino, found.st_mtime_ns, found.st_size
