"""The arguments of `contour` and the kubeconfigs with which replicas and their Envoys are
started."""

from collections.abc import Sequence
from pathlib import Path

import yaml

FAST = (
    *("--leader-election-lease-duration", "3s", "--leader-election-renew-deadline", "2s"),
    *("--leader-election-retry-period", "200ms"),
)


def certgen(folder: Path, namespace: str) -> Sequence[str]:
    """Makes the certificates of an instance."""
    return ("certgen", "--pem", str(folder), "--namespace", namespace)


def serve(kubeconfig: Path, certificates: Path, ports: Sequence[int]) -> Sequence[str]:
    """A replica; the ports are those of xDS, of its pages and of those for debugging."""
    xds, pages, debug = map(str, ports)
    return (
        *("serve", "--kubeconfig", str(kubeconfig), "--xds-port", xds),
        *("--contour-cafile", str(certificates / "CAcert.pem")),
        *("--contour-cert-file", str(certificates / "contourcert.pem")),
        *("--contour-key-file", str(certificates / "contourkey.pem")),
        *("--health-port", pages, "--http-port", pages, "--debug-http-port", debug),
    )


def bootstrap(path: Path, xds: int, admin: Path, resources: Path, given: Path) -> Sequence[str]:
    """The bootstrap of an Envoy with these certificates, whose control plane is on this machine."""
    return (
        *("bootstrap", str(path), "--xds-address", "127.0.0.1", "--xds-port", str(xds)),
        *("--admin-address", str(admin), "--resources-dir", str(resources)),
        *("--envoy-cafile", str(given / "CAcert.pem")),
        *("--envoy-cert-file", str(given / "envoycert.pem")),
        *("--envoy-key-file", str(given / "envoykey.pem")),
    )


def write_kubeconfig(
    path: Path, url: str, token: str, namespace: str = "default", authority: Path | None = None
) -> Path:
    """A kubeconfig with this token; an anonymous one without."""
    trusted = {"certificate-authority": str(authority)} if authority else {}
    place = {"cluster": "tests", "user": "tests", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": {"server": url, **trusted}}],
        "users": [{"name": "tests", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "tests", "context": place}],
        "current-context": "tests",
    }
    path.write_text(yaml.safe_dump(config))
    return path
