"""Instances on a site, each made in one of the ways that the documentation has."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from contour.cli import main
from tests.workflows.site import Raw, Site

CONTROLLER = "projectcontour.io/gateway-controller"
KINDS = (
    *("deployments", "daemonsets", "services", "serviceaccounts", "secrets", "configmaps"),
    *("roles", "rolebindings", "clusterrolebindings", "networkpolicies", "poddisruptionbudgets"),
)


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of ours in a namespace."""

    site: Site
    namespace: str
    address: str
    """Where its fleet is reached."""

    def configure(self, spec: Raw) -> None:
        """Merges something into its ContourConfiguration."""
        self.site.patch("contourconfiguration", self.namespace, "contour", {"spec": spec})

    def envoys(self) -> frozenset[str]:
        """Its Envoys, by the UIDs of their pods."""
        found = self.site.pods.all(self.namespace, "app=envoy")
        return frozenset(it["metadata"]["uid"] for it in found)

    def label(self, kind: str, name: str, label: str) -> str:
        """A label of one of its objects."""
        labels: Mapping[str, str] = self.site.get(kind, self.namespace, name)["metadata"]["labels"]
        return labels.get(label, "")

    def objects(self) -> list[str]:
        """Everything that carries its mark."""
        mark = f"projectcontour.io/owning-configuration-namespace={self.namespace}"
        return self.site.objects(KINDS, mark)

    def require_available(self, *, contours: int, envoys: int) -> None:
        """The status says so, and counts right."""
        self.site.until_condition("contourconfiguration", self.namespace, "contour", "Available")
        self.site.until(
            lambda: self.site.get("contourconfiguration", self.namespace, "contour")["status"],
            lambda it: (it["availableContours"], it["availableEnvoys"]) == (contours, envoys),
        )


def provisioned(site: Site, spec: Raw, *, gateway: bool) -> Instance:
    """By the operator, with the user's backends and routes already there."""
    site.install("operator.yaml")
    backed(site, gateway=gateway)
    site.kubectl("create", "namespace", "ingress")
    site.apply("configuration.yaml", namespace="ingress", spec=json.dumps(spec))
    return Instance(site, "ingress", site.pods.address("ingress", "envoy"))


def installed(site: Site, manifest: str, *, gateway: bool) -> Instance:
    """By hand, from one of our manifests."""
    site.install(manifest)
    backed(site, gateway=gateway)
    return Instance(site, "projectcontour", site.pods.address("projectcontour", "envoy"))


def with_file(site: Site, file: Path) -> Instance:
    """By hand, with the configuration file of Envoy Gateway; the fleets are those of Gateways. It
    may be installed again with another file."""
    site.install()
    manifests = CliRunner().invoke(main, ["manifests", "--config-path", str(file)])
    assert manifests.exit_code == 0, manifests.output
    site.kubectl("apply", "-f", "-", stdin=manifests.stdout)
    return Instance(site, "projectcontour", "")


def backed(site: Site, *, gateway: bool) -> None:
    """The user's backends and routes."""
    names = ("backends.yaml", "routes.yaml", *(["gateway.yaml"] if gateway else []))
    for it in names:
        site.apply(it, namespace="default")
