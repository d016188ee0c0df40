"""An instance of our manifests in pods, and a site that it serves, for the commands to ask."""

from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

from contour.cli import main
from tests.cluster import assets
from tests.pods import runner, written
from tests.pods.fixtures import installed, pods

__all__ = ["installed", "pods"]

NAMESPACE, HOST = "projectcontour", "remote.example.com"
MANIFESTS = assets.ROOT / "manifests"


class Site(NamedTuple):
    """What is there."""

    pods: runner.Pods
    namespace: str
    """That of the user, whose HTTPProxy `web` serves HOST."""

    def contour(self, *arguments: str, stdin: str = "", token: str = "") -> Result:
        """A command where no `contour run` is, as the administrator or with a token."""
        config = self.pods.cluster.kubeconfig(token)
        environment = {"KUBECONFIG": str(config), "COLUMNS": None, "XDG_RUNTIME_DIR": "/nowhere"}
        return CliRunner(env=environment).invoke(main, arguments, input=stdin)


@pytest.fixture(scope="session")
def site(installed: runner.Pods) -> Site:
    """The quickstart is ready and serves a site."""
    for arguments in (
        ("apply", "--server-side", "--force-conflicts", "-f", str(MANIFESTS / "crds.yaml")),
        ("apply", "-f", str(MANIFESTS / "quickstart.yaml")),
    ):
        done = installed.cluster.kubectl(*arguments)
        assert done.returncode == 0, done.stderr
    installed.until_ready(NAMESPACE, "app=contour", 2)
    installed.until_ready(NAMESPACE, "app=envoy", 2)
    space = installed.cluster.namespace()
    container = {
        "image": "backends",
        "args": ["web=8080"],
        "readinessProbe": {"tcpSocket": {"port": 8080}},
    }
    installed.cluster.create(written.deployment(space, "web", 1, container))
    installed.cluster.create(written.service(space, "web", 80, 8080))
    installed.cluster.create(proxy(space))
    address = installed.address(NAMESPACE, "envoy")
    installed.until_served(address, 80)
    installed.until_so(lambda: installed.request(address, 80, host=HOST).status == 200)
    return Site(installed, space)


def proxy(space: str, **spec: object) -> dict[str, object]:
    """The HTTPProxy of the user."""
    route = {"services": [{"name": "web", "port": 80}]}
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": {"namespace": space, "name": "web"},
        "spec": {"virtualhost": {"fqdn": HOST}, "routes": [route], **spec},
    }
