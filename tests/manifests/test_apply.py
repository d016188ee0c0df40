"""The manifests on a real API server, applied as the documents say: by kubectl."""

import json
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from contour.cli import main
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import Start
from tests.testbed.apiserver import RefusedError

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "manifests"


def rendered(*arguments: str) -> str:
    """What `contour manifests` prints."""
    result = CliRunner().invoke(main, ["manifests", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_quickstart_installs_changes_nothing_the_second_time_and_goes(
    start_control_plane: Start,
) -> None:
    cluster = Cluster(start_control_plane().folder)
    crds, quickstart = str(MANIFESTS / "crds.yaml"), str(MANIFESTS / "quickstart.yaml")
    _applied(cluster, "-f", crds)
    cluster.until_established(crds)
    first = _applied(cluster, "-f", quickstart)
    documents = list(yaml.load_all(Path(quickstart).read_text(), yaml.CSafeLoader))
    assert len(first) == len(documents)
    assert all(it.endswith(" created") for it in first)
    for arguments in (("-f", crds), ("-f", quickstart), ("-k", str(MANIFESTS))):
        changed = [it for it in _applied(cluster, *arguments) if not it.endswith(" unchanged")]
        # Of this one kubectl sends the selector each time, to no effect: it cannot be merged.
        assert changed in ([], ["poddisruptionbudget.policy/contour configured"])
    # An upgrade begins with everything but the fleet.
    first = _applied(cluster, "-l", "app.kubernetes.io/name!=envoy", "-f", quickstart)
    assert 10 < len(first) < len(documents)
    assert not [it for it in first if "/envoy " in it]
    _require_pods(cluster, "projectcontour", {"contour": 2, "contour-certgen": 1})
    deleted = cluster.kubectl("delete", "-f", quickstart, "--wait=false")
    assert deleted.returncode == 0, deleted.stderr
    assert all(_is_going(cluster, it) for it in documents)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("--suffix=-blue",), id="a second instance"),
        pytest.param(("--watch-namespaces=default",), id="some namespaces only"),
    ],
)
def test_server_side_apply_a_second_time_writes_nothing(
    cluster: Cluster, arguments: tuple[str, ...]
) -> None:
    namespace = _restricted(cluster)
    given = rendered(f"--namespace={namespace}", *arguments)
    documents = list(yaml.load_all(given, yaml.CSafeLoader))
    text = yaml.safe_dump_all(documents)
    _applied(cluster, "--server-side", "-f", "-", stdin=text)
    before = [_version(cluster, it) for it in documents]
    _applied(cluster, "--server-side", "-f", "-", stdin=text)
    assert [_version(cluster, it) for it in documents] == before
    cluster.kubectl("delete", "-f", "-", "--wait=false", "--ignore-not-found", stdin=text)


def test_what_takes_the_ports_of_nodes_is_warned_of_and_refused_where_that_is_forbidden(
    cluster: Cluster,
) -> None:
    namespace = _restricted(cluster)
    documents = [
        it
        for it in yaml.load_all(
            rendered(f"--namespace={namespace}", "--host-ports"), yaml.CSafeLoader
        )
        if it["kind"] == "DaemonSet"
    ]
    done = cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))
    assert "hostPort" in done.stderr


def test_the_gateway_of_the_example_is_one(cluster: Cluster, namespace: str) -> None:
    text = (MANIFESTS / "examples" / "gateway.yaml").read_text()
    # Another name, for the class is the whole cluster's.
    mine = text.replace("name: contour", f"name: {namespace}")
    _applied(
        cluster, "--dry-run=server", "-f", "-",
        stdin=mine.replace("projectcontour\n", f"{namespace}\n"),
    )  # fmt: skip


def _restricted(cluster: Cluster) -> str:
    levels = {f"pod-security.kubernetes.io/{it}": "restricted" for it in ("enforce", "warn")}
    return cluster.namespace("install", levels)


def _applied(cluster: Cluster, *arguments: str, stdin: str = "") -> list[str]:
    """What kubectl says of each object; there must be no word of warning."""
    done = cluster.kubectl("apply", *arguments, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def _is_going(cluster: Cluster, document: dict[str, Any]) -> bool:
    try:
        return "deletionTimestamp" in cluster.get(document)["metadata"]
    except RefusedError as error:
        return error.code == 404


def _version(cluster: Cluster, document: dict[str, Any]) -> tuple[str, int]:
    """Changes with what its user says, not with what controllers do."""
    found = cluster.get(document)["metadata"]
    mine = [it for it in found["managedFields"] if it["manager"] == "kubectl"]
    return json.dumps(mine), found.get("generation", 0)


def _require_pods(cluster: Cluster, namespace: str, counts: dict[str, int]) -> None:
    """The controllers could make the pods: admission has nothing against them."""
    pods = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace}}
    path = cluster.path(pods | {"metadata": {"namespace": namespace}}, of_collection=True)
    deadline = monotonic() + 20
    for instance, count in counts.items():
        label = f"app.kubernetes.io/instance={instance}"
        while len(cluster.ask("GET", path, labelSelector=label)["items"]) < count:
            assert monotonic() < deadline, f"no pods of {instance}"
            sleep(0.05)
