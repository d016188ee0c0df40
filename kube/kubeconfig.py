"""Access by a kubeconfig: contexts, client certificates, tokens, exec plugins, OIDC.

The file is read by the kubernetes client, which costs 20 MB and 0.2 s to import, so it is imported
only if a kubeconfig is used. It is read again when its plugin's credentials expire or the API
server refuses them, so certificates and token files that it names may be replaced while we run.
"""

import asyncio
import os
import ssl
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kube.credentials import AccessError, Credentials


class Kubeconfig:
    """One context of a kubeconfig, or of several joined as `$KUBECONFIG` does."""

    def __init__(self, path: str, context: str | None = None) -> None:
        self._path = path
        self._context = context
        self._lock = asyncio.Lock()  # an exec plugin runs once for all who wait
        self._credentials: Credentials | None = None
        self._loader: Any = None

    async def credentials(self, refused: Credentials | None = None) -> Credentials:
        """The last credentials of the file, unless they have expired or been refused."""
        async with self._lock:
            known = self._credentials
            if known is None or known is refused or self._is_expired():
                self._credentials = known = await self._read()
            return known

    def _is_expired(self) -> bool:
        expiry = getattr(self._loader, "exec_plugin_expiry", None)
        return expiry is not None and bool(_library()._is_expired(expiry))

    async def _read(self) -> Credentials:
        files = [Path(it).expanduser() for it in self._path.split(os.pathsep) if it]
        if not any(file.is_file() for file in files):
            raise AccessError(f"kubeconfig {self._path}: no such file")
        if find_spec("kubernetes") is None:
            raise AccessError(
                f"kubeconfig {self._path}: reading it needs a package: "
                "pip install 'kubernetes>=37' (in a checkout: '.[kubeconfig]')"
            )
        try:
            return await self._loaded()
        except AccessError:
            raise
        except Exception as error:  # the library raises whatever the file provokes
            raise AccessError(f"kubeconfig {self._path}: {error or type(error).__name__}") from None

    async def _loaded(self) -> Credentials:
        from kubernetes.aio.client import Configuration  # noqa: PLC0415

        library, read = _library(), Configuration()
        try:
            self._loader = loader = await library.load_kube_config(
                self._path, self._context, read, persist_config=False
            )
            self._require_plugin(read)
            return Credentials(
                url=read.host.rstrip("/"),
                authorization=read.api_key.get("BearerToken", ""),
                tls=_tls(read) if read.host.startswith("https:") else None,
                server_name=read.tls_server_name or None,
                proxy=read.proxy or None,
                namespace=loader.current_context["context"].get("namespace") or "default",
            )
        finally:
            library._cleanup_temp_files()  # private keys, read by now

    def _require_plugin(self, read: Any) -> None:
        """The library logs why an exec plugin failed, and goes on without credentials."""
        user = self._loader._user
        if user is not None and "exec" in user and not (read.api_key or read.cert_file):
            command = user["exec"].value.get("command")
            raise AccessError(f"kubeconfig {self._path}: {command!r} gave no credentials")


def _library() -> Any:
    """`Any`, because the asyncio half of the library has no types."""
    from kubernetes.aio.config import kube_config  # noqa: PLC0415

    return kube_config


def _tls(read: Any) -> ssl.SSLContext:
    """Without an authority of its own, a file relies on those of the system."""
    tls = ssl.create_default_context(cafile=read.ssl_ca_cert or None)
    if not read.verify_ssl:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if read.cert_file:
        tls.load_cert_chain(read.cert_file, read.key_file)
    return tls
