"""`contour diff` and `contour translate` with what a user may read of a real API server."""

import pytest
import yaml
from click.testing import CliRunner, Result

from contour.cli import main
from tests.cluster.cluster import Cluster
from tests.contour.remote.conftest import HOST, proxy
from tests.contour.remote.test_instances import create, pod

pytestmark = pytest.mark.cluster

READ = ("pods", "namespaces", "services", "httpproxies")
COMMANDS = {"diff": ("diff",), "translate": ("translate", "--to", "routes", "-o", "json")}
LACKS = {"refused": (READ, "may not be read"), "absent": (("*",), "does not exist or is not valid")}


def asked(cluster: Cluster, namespace: str, *command: str, rights: tuple[str, ...]) -> Result:
    """A command with an HTTPProxy for the one instance of a namespace,
    by a user who may list these resources."""
    create(cluster, pod(namespace, "contour", f"--namespace={namespace}"))
    rules = [{"apiGroups": ["*"], "resources": list(rights), "verbs": ["list"]}]
    token = cluster.service_account(namespace, "user", cluster_rules=rules)
    config = cluster.kubeconfig(token)
    environment = {"KUBECONFIG": str(config), "COLUMNS": None, "XDG_RUNTIME_DIR": "/nowhere"}
    return CliRunner(env=environment).invoke(
        main, [*command, "-n", namespace, "-f", "-"], input=yaml.safe_dump(proxy(namespace))
    )


def configuration(namespace: str) -> dict[str, object]:
    return {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"namespace": namespace, "name": "contour"},
        "spec": {},
    }


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("lack", LACKS)
def test_without_its_configuration_nothing_is_said_of_what_an_instance_serves(
    cluster: Cluster, namespace: str, command: str, lack: str
) -> None:
    rights, why = LACKS[lack]
    if lack == "refused":
        cluster.create(configuration(namespace))
    found = asked(cluster, namespace, *COMMANDS[command], rights=rights)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.splitlines()[-1] == (
        f"contour: ContourConfiguration {namespace}/contour, which the instance follows, {why}, so "
        "it is not known what is served"
    )


@pytest.mark.parametrize(("command", "code"), [("diff", 1), ("translate", 0)])
def test_with_its_configuration_requests_are_answered(
    cluster: Cluster, namespace: str, command: str, code: int
) -> None:
    cluster.create(configuration(namespace))
    found = asked(cluster, namespace, *COMMANDS[command], rights=(*READ, "contourconfigurations"))
    assert found.exit_code == code, found.output
    assert HOST in found.stdout
