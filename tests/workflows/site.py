"""A cluster with nodes, and what its user does to it: kubectl, requests, looking at statuses."""

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar

from tests.cluster import assets
from tests.cluster.cluster import Cluster
from tests.pods import images, runner

Raw = dict[str, Any]
T = TypeVar("T")

MANIFESTS = assets.ROOT / "manifests"
USERS = Path(__file__).with_name("manifests")
PATIENCE = 90.0  # seconds


class Told(NamedTuple):
    """What a backend says of a request that reached it; only the status if none did."""

    status: int
    backend: str = ""


class Site:
    """What a user has before our manifests are applied: a cluster, nodes, kubectl."""

    def __init__(self, cluster: Cluster, pods: runner.Pods) -> None:
        self.cluster = cluster
        self.pods = pods

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """What it prints; it is to succeed."""
        done = self.cluster.kubectl(*arguments, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}:\n{done.stderr}{done.stdout}"
        return done.stdout

    def install(self, *names: str) -> None:
        """Our CRDs, and then these of our manifests, as the README has it."""
        crds = str(MANIFESTS / "crds.yaml")
        self.kubectl("apply", "--server-side", "-f", crds)
        self.cluster.until_established(crds)
        for name in names:
            self.kubectl("apply", "-f", str(MANIFESTS / name))

    def apply(self, name: str, **values: str) -> None:
        """One of the user's manifests, with values in place of `$name`."""
        text = Template((USERS / name).read_text()).substitute(values)
        self.kubectl("apply", "-f", "-", stdin=text)

    def patch(self, kind: str, namespace: str, name: str, patch: Raw) -> None:
        """A JSON merge patch."""
        what = ("patch", kind, name, "-n", namespace)
        self.kubectl(*what, "--type=merge", "-p", json.dumps(patch))

    def get(self, kind: str, namespace: str, name: str) -> Raw:
        """An object; empty if there is none."""
        return self.cluster.look_up(kind, namespace, name)

    def conditions(self, kind: str, namespace: str, name: str) -> Mapping[str, Raw]:
        """The conditions of an object by type, those of a route's one parent among them."""
        status = self.get(kind, namespace, name).get("status", {})
        parents = [it for parent in status.get("parents", ()) for it in parent["conditions"]]
        return {it["type"]: it for it in [*status.get("conditions", ()), *parents]}

    def ask(self, address: str, host: str, path: str = "/", port: int = 80) -> Told:
        """One request, never sent again. Whoever answers with JSON is a backend."""
        answer = self.pods.request(address, port, path, host)
        with contextlib.suppress(ValueError):
            return Told(answer.status, json.loads(answer.body)["backend"])
        return Told(answer.status)

    def until_told(self, address: str, host: str, path: str = "/", *, told: Told) -> None:
        """Waits for a first such answer: until then a fleet is on its way."""

        def asked() -> Told | str:
            try:
                return self.ask(address, host, path)
            except (OSError, http.client.HTTPException) as error:
                return repr(error)

        self.until(asked, lambda found: found == told)

    def until(
        self, look: Callable[[], T], is_so: Callable[[T], object], seconds: float = PATIENCE
    ) -> T:
        """Looks again until it is so; what was seen then."""
        deadline = monotonic() + seconds
        while not is_so(found := look()):
            assert monotonic() < deadline, f"still {found!r}\n{self.story()}"
            sleep(0.1)
        return found

    def until_condition(
        self, kind: str, namespace: str, name: str, type_: str, status: str = "True"
    ) -> Raw:
        """Waits for a condition; it."""
        found = self.until(
            lambda: self.conditions(kind, namespace, name),
            lambda it: it.get(type_, {}).get("status") == status,
        )
        return found[type_]

    def objects(self, kinds: Sequence[str], selector: str) -> list[str]:
        """`kind/namespace/name` of all objects with such labels."""
        columns = "KIND:.kind,NS:.metadata.namespace,NAME:.metadata.name"
        done = self.kubectl(
            "get", ",".join(kinds), "-A", "-l", selector, "--no-headers",
            "-o", f"custom-columns={columns}",
        )  # fmt: skip
        return sorted("/".join(it.split()) for it in done.splitlines())

    def story(self) -> str:
        """What a person would look at when something does not come."""
        pods = self.cluster.kubectl("get", "pods", "-A", "-o", "wide").stdout
        events = self.cluster.kubectl("get", "events", "-A").stdout.splitlines()[-40:]
        every = self.pods.all()
        logs = [
            f"--- {namespace}/{name}\n" + self.pods.logs(namespace, name)[-3000:]
            for namespace, name in (
                (it["metadata"]["namespace"], it["metadata"]["name"]) for it in every
            )
        ]
        return "\n".join([pods, *events, *logs])


@contextlib.contextmanager
def opened(cluster: Cluster, nodes: int = 2) -> Iterator[Site]:
    """Nodes for this cluster, which can pull our images and those of the user's backends."""
    with runner.running(cluster, nodes) as pods:
        pods.known("*contour-ingress:*", images.ours())
        pods.known("*/envoyproxy/envoy:*", images.envoy())
        pods.known("example/backend:*", images.backends())
        yield Site(cluster, pods)
