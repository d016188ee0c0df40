"""Upstream Contour and its Envoy, with which ours are compared.

It is built from its Go module, which `hack/contour/go.mod` requires, and kept in the user's cache.
"""

import contextlib
import json
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import yaml

from hack.measuring.cluster.site import Ground
from tests import golang
from tests.testbed import envoys
from tests.testbed.ports import free_ports
from tests.testbed.programs import Program

MODULE = golang.ROOT / "hack" / "contour"
NAME = "github.com/projectcontour/contour"
LOOPBACK = "127.0.0.1"


def program() -> golang.Program:
    """Its only binary."""
    command = ("build", *golang.FLAGS, "-ldflags=-s -w")
    return golang.Program("contour", "upstream", MODULE, command, f"{NAME}/cmd/contour")


def version() -> str:
    """Its release."""
    return golang.required(MODULE, NAME)


class Contour(Program):
    """Upstream's `contour serve` on a cluster; its xDS has no TLS."""

    def __init__(self, ground: Ground) -> None:
        self.port, *pages, admin = free_ports(6)
        self._log = ground.folder / "upstream.log"
        settings = ground.folder / "upstream.yaml"
        settings.write_text(yaml.safe_dump({"network": {"admin-port": admin}}))
        metrics, health, debug, statistics = pages
        self._command = (
            *(str(program().path), "serve", "--insecure", f"--config-path={settings}"),
            f"--kubeconfig={ground.cluster.kubeconfig()}",
            *(f"--xds-address={LOOPBACK}", f"--xds-port={self.port}"),
            *(f"--http-address={LOOPBACK}", f"--http-port={metrics}"),
            *(f"--health-address={LOOPBACK}", f"--health-port={health}"),
            *(f"--debug-http-address={LOOPBACK}", f"--debug-http-port={debug}"),
            *(f"--stats-address={LOOPBACK}", f"--stats-port={statistics}"),
            f"--envoy-service-http-address={LOOPBACK}",
            f"--envoy-service-http-port={ground.port}",
            f"--envoy-service-https-address={LOOPBACK}",
            f"--envoy-service-https-port={ground.https}",
            # Its default limits are lower: writing statuses would then delay configuration for
            # minutes.
            *("--kubernetes-client-qps=1000", "--kubernetes-client-burst=2000"),
        )

    async def start(self) -> float:
        """Starts the process, and returns when it was started; it is ready when its Envoy
        answers."""
        with self._log.open("ab") as log:
            await self.spawn(*self._command, stdout=log, stderr=log)
        return time.monotonic()


class Envoy(envoys.Envoy):
    """Its Envoy, with upstream's own bootstrap."""

    def __init__(self, ground: Ground, of: Contour) -> None:
        super().__init__(ground.folder, "upstream-envoy")
        command = (
            *(str(program().path), "bootstrap", str(self.configuration)),
            *("--xds-address", LOOPBACK, "--xds-port", str(of.port)),
            *("--admin-address", str(self.admin)),
        )
        subprocess.run(command, check=True, capture_output=True)
        # Upstream's manifests set this on Envoy's command line.
        found = json.loads(self.configuration.read_text())
        found["node"] = {"id": self.name, "cluster": "contour"}
        self.configuration.write_text(json.dumps(found))


@dataclass(slots=True)
class Placed:
    """Upstream Contour and its Envoy on a cluster."""

    ground: Ground
    replica: Contour
    envoy: Envoy


@contextlib.asynccontextmanager
async def placed(ground: Ground) -> AsyncIterator[Placed]:
    """The same; the caller starts them, and they end here."""
    replica = Contour(ground)
    envoy = Envoy(ground, replica)
    try:
        yield Placed(ground, replica, envoy)
    finally:
        await envoy.end()
        await replica.end()
