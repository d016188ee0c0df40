"""etcd, kube-apiserver and kube-controller-manager on loopback, as separate processes.

RBAC is on and ServiceAccounts get tokens, so rights can be tested; nothing runs pods. The only user
besides ServiceAccounts is an administrator with a token. Its folder has everything that a restart
needs.
"""

import http.client
import os
import secrets
import shutil
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.cluster import assets
from tests.testbed import certificates, processes
from tests.testbed.commands import write_kubeconfig
from tests.testbed.ports import free_ports

CONTROLLERS = (
    *("namespace-controller", "garbage-collector-controller", "service-cidr-controller"),
    *("serviceaccount-controller", "serviceaccount-token-controller"),
    *("root-ca-certificate-publisher-controller", "deployment-controller", "replicaset-controller"),
    *("daemonset-controller", "job-controller", "endpointslice-controller"),
    *("endpoints-controller", "disruption-controller", "statefulset-controller"),
    *("clusterrole-aggregation-controller", "ttl-after-finished-controller"),
)
SERVICES = "10.96.0.0/16"
_NAMES = (
    *("127.0.0.1", "10.96.0.1", "localhost"),
    *("kubernetes", "kubernetes.default", "kubernetes.default.svc"),
)
"""The names by which clients and pods reach the API server."""
_FEWER_COLLECTIONS = {"GOGC": "400"}
"""Fewer garbage collections: a control plane that starts with CRDs needs a sixth less CPU time."""


class ControlPlane:
    """A cluster without nodes. `with` starts and stops it."""

    def __init__(
        self,
        folder: Path,
        controllers: Sequence[str] = CONTROLLERS,
        options: Mapping[str, str] = MappingProxyType({}),
        stored: Path | None = None,
    ) -> None:
        """`stored` is a folder of etcd, whose content the control plane begins with."""
        self.folder = folder
        self.options = options
        """Further options of the API server, for its next start."""
        self._controllers = controllers
        self._stored = stored
        self._commands = assets.commands()
        self._etcd_port, self._peer_port, self._port = free_ports(3)
        self._parts: dict[str, processes.Process] = {}
        self._token = secrets.token_hex(16)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._forget()
        if self._stored:
            shutil.copytree(self._stored, self.folder / "etcd")
        self._write_credentials()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._forget()

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.folder / "admin.kubeconfig"

    @property
    def pids(self) -> Mapping[str, int]:
        """The IDs of the running processes, by component."""
        return {name: it.pid for name, it in self._parts.items()}

    def start(self) -> None:
        """Starts everything; returns when the API server is ready."""
        self.start_etcd()
        self.start_apiserver()
        if self._controllers:
            self.start_controllers()

    def stop(self) -> None:
        """Kills everything at once: nothing here needs a graceful end."""
        for name in reversed(assets.PARTS):
            if part := self._parts.pop(name, None):
                part.kill()

    def start_etcd(self) -> None:
        """Starts etcd with the data that it had when it was stopped."""
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        part = self._start("etcd", {
            "data-dir": str(self.folder / "etcd"),
            "listen-client-urls": client, "advertise-client-urls": client,
            "listen-peer-urls": peer, "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "unsafe-no-fsync": "true", "log-level": "warn",
        })  # fmt: skip
        part.wait_until(lambda: _answers(self._etcd_port, "/health"))

    def start_apiserver(self) -> None:
        """Starts the API server; returns when it is ready."""
        keys = str(self.folder / "service-accounts.key")
        part = self._start("kube-apiserver", {
            "etcd-servers": f"http://127.0.0.1:{self._etcd_port}",
            "bind-address": "127.0.0.1", "secure-port": str(self._port),
            "advertise-address": "127.0.0.1", "endpoint-reconciler-type": "none",
            "cert-dir": str(self.folder),
            "token-auth-file": str(self.folder / "tokens.csv"),
            "authorization-mode": "Node,RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": keys, "service-account-signing-key-file": keys,
            "service-cluster-ip-range": SERVICES,
            "allow-privileged": "true", "profiling": "false", **self.options,
        })  # fmt: skip
        part.wait_until(lambda: _answers(self._port, "/readyz", self._authority))

    def stop_apiserver(self) -> None:
        """Kills the API server, as in an outage: connections are cut."""
        self._parts.pop("kube-apiserver").kill()

    def start_controllers(self) -> None:
        """Starts the controllers, which wait for the API server while it is away."""
        self._start("kube-controller-manager", {
            "kubeconfig": str(self.kubeconfig), "leader-elect": "false", "secure-port": "0",
            "controllers": ",".join(self._controllers),
            "service-account-private-key-file": str(self.folder / "service-accounts.key"),
            "root-ca-file": str(self._authority),
            "kube-api-qps": "500", "kube-api-burst": "1000",
        })  # fmt: skip

    def rewind_to(self, saved: Path) -> None:
        """Restarts with the history of an earlier moment, as after a backup was restored."""
        self.stop()
        shutil.rmtree(self.folder / "etcd")
        shutil.copytree(saved, self.folder / "etcd")
        self.start()

    def save(self, saved: Path) -> None:
        """Keeps this moment for `rewind_to`; everything restarts."""
        self.stop()
        shutil.copytree(self.folder / "etcd", saved)
        self.start()

    def _forget(self) -> None:
        """etcd's files are large, and pytest keeps the folders of several runs."""
        shutil.rmtree(self.folder / "etcd", ignore_errors=True)

    @property
    def _authority(self) -> Path:
        """The API server's self-signed certificate. The one that it would make itself has an RSA
        key: to sign with that took a sixth of its CPU time in a run of the tests.
        """
        return self.folder / "apiserver.crt"

    def _start(self, name: str, options: Mapping[str, str]) -> processes.Process:
        flags = [f"--{option}={value}" for option, value in options.items()]
        environment = os.environ | _FEWER_COLLECTIONS
        part = processes.start(name, [*self._commands[name], *flags], self.folder, environment)
        self._parts[name] = part
        return part

    def _write_credentials(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        (self.folder / "service-accounts.key").write_bytes(key)
        (self.folder / "tokens.csv").write_text(f'{self._token},admin,admin,"system:masters"\n')
        pair = certificates.self_signed("kube-apiserver", *_NAMES)
        self._authority.write_bytes(pair.pem)
        self._authority.with_suffix(".key").write_bytes(pair.key_pem)
        write_kubeconfig(self.kubeconfig, self.url, self._token, authority=self._authority)


def _answers(port: int, path: str, authority: Path | None = None) -> bool:
    """Whether the URL is answered with 200; HTTPS is verified with `authority`, once it is
    written."""
    if authority is not None and not authority.is_file():
        return False
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        if authority is not None:
            tls = ssl.create_default_context(cafile=str(authority))
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=2, context=tls)
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
