"""The interface of tests to a cluster: requests, namespaces, users with rights, kubectl, our CRDs.

Requests here are blocking ones by the administrator. They deliberately do not use the project's own
client, because the setup of a test must not depend on what it tests; `client` returns that.
"""

import json
import secrets
import ssl
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import urllib3
import yaml

from kube import client, kubeconfig
from tests.cluster import assets
from tests.testbed import processes
from tests.testbed.apiserver import MEDIA, Raw, RefusedError
from tests.testbed.commands import write_kubeconfig
from tests.testbed.patience import PATIENCE

OURS = assets.ROOT / "crds" / "schema"
OPTIONAL = OURS / "optional"
RBAC = "rbac.authorization.k8s.io"

_WRITES = ("POST", "PUT", "PATCH")
_VALIDATED = ("apply", "create", "replace")

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WITH_FINALIZERS = (
    "/apis/projectcontour.io/v1alpha1/namespaces/{}/contourconfigurations",
    "/apis/gateway.networking.k8s.io/v1/namespaces/{}/gateways",
)
"""Paths of the namespaced kinds on which the operator and the controller put finalizers."""


def default_crds() -> tuple[Path, ...]:
    """The folders of the CRDs that most tests need: ours that are no opt-in, and the Gateway
    API."""
    return OURS, assets.gateway_api_crds()


class Cluster:
    """A real API server, and its administrator's rights."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._config = yaml.load(self.admin.read_text(), yaml.CSafeLoader)
        server = self._config["clusters"][0]["cluster"]
        self.url = str(server["server"])
        self.authority = Path(server["certificate-authority"])
        self.tls = ssl.create_default_context(cafile=str(self.authority))
        self.admin_token = self._config["users"][0]["user"]["token"]
        where = urlsplit(self.url)
        self._connections = urllib3.HTTPSConnectionPool(
            str(where.hostname), where.port, timeout=30, maxsize=4, ssl_context=self.tls
        )
        """Kept open, since opening one is four fifths of the work of a small request."""
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}
        self._versions: dict[str, tuple[str, str]] = {}

    @property
    def admin(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "admin.kubeconfig"

    def kubeconfig(self, token: str = "", namespace: str = "default") -> Path:
        """A separate kubeconfig with this token; without one, the administrator's."""
        path = self.folder / f"{secrets.token_hex(8)}.kubeconfig"
        who = token or self.admin_token
        return write_kubeconfig(path, self.url, who, namespace, self.authority)

    def client(self, config: Path | None = None) -> client.Client:
        """The project's own client, to be opened by `async with`."""
        return client.Client(kubeconfig.Kubeconfig(str(config or self.admin)))

    def kubectl(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs kubectl as the administrator; the caller has to check the exit code.

        Unknown fields and patches without effect are errors: a test that went on after them could
        not fail.
        """
        program = Path(sys.executable).with_name("kubectl")
        strict = ["--validate=strict"] if arguments[0] in _VALIDATED else []
        done = subprocess.run(
            [program, "--kubeconfig", self.admin, *arguments, *strict],
            input=stdin, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if arguments[0] == "patch":
            assert "unknown field" not in done.stderr, done.stderr
            assert "(no change)" not in done.stdout, arguments
        return done

    def until_established(self, crds: str) -> None:
        """Waits for the CRDs of a file, as docs/installation.md says: again where kubectl stumbles
        over a CRD that the API server has not looked at yet."""

        def is_established() -> bool:
            done = self.kubectl(
                "wait", "--for=condition=Established", "-f", crds, f"--timeout={PATIENCE:.0f}s"
            )
            assert not done.returncode or "accessor error" in done.stderr, done.stderr
            return not done.returncode

        processes.wait(is_established, f"the CRDs of {crds}")

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        media: str = "application/json",
        token: str = "",
        **query: str,
    ) -> Raw:
        """Sends one request; returns the answer.

        Raises `RefusedError`. Unknown fields are refused, unless the query says otherwise. A patch
        must change something.
        """
        if method in _WRITES:
            query = {"fieldValidation": "Strict", **query}
        is_to_change = method == "PATCH" and media != MEDIA["apply"] and "dryRun" not in query
        before = self._present(path, token) if is_to_change else {}
        answer = self._asked(method, path, body, media, token, query)
        assert not before or answer != before, f"{path}: nothing is changed"
        return answer

    def _present(self, path: str, token: str) -> Raw:
        try:
            return self._asked("GET", path, None, "application/json", token, {})
        except RefusedError:
            return {}  # a user who may write may lack the right to read

    def _asked(
        self, method: str, path: str, body: Any, media: str, token: str, query: Mapping[str, str]
    ) -> Raw:
        headers = {"Authorization": f"Bearer {token or self.admin_token}", "Content-Type": media}
        packed = None if body is None else json.dumps(body)
        response = self._connections.request(
            method, f"{path}?{urlencode(query)}", body=packed, headers=headers, retries=False
        )
        answer = _read(response.data)
        if response.status >= 400:
            raise RefusedError(response.status, answer)
        return answer

    def path(self, obj: Raw, of_collection: bool = False) -> str:
        """The path of an object, or of all objects of its kind."""
        plural, is_namespaced = self._kind(obj["apiVersion"], obj["kind"])
        parts = [_root(obj["apiVersion"])]
        if is_namespaced:
            parts += ["namespaces", obj["metadata"].get("namespace", "default")]
        parts += [plural] if of_collection else [plural, quote(obj["metadata"]["name"])]
        return "/".join(parts)

    def create(self, obj: Raw, **query: str) -> Raw:
        """Adds an object."""
        return self.ask("POST", self.path(obj, of_collection=True), obj, **query)

    def apply(self, obj: Raw, manager: str = "tests", subresource: str = "") -> Raw:
        """Server-side apply, by force."""
        path = self.path(obj) + (f"/{subresource}" if subresource else "")
        return self.ask("PATCH", path, obj, MEDIA["apply"], fieldManager=manager, force="true")

    def get(self, obj: Raw) -> Raw:
        """The object of this identity as it is now."""
        return self.ask("GET", self.path(obj))

    def look_up(self, kind: str, namespace: str, name: str) -> Raw:
        """An object of a kind in any case, as for `kubectl get`, which takes a hundred times as
        long; empty if there is none."""
        metadata = {"namespace": namespace, "name": name}
        api_version, known = self._version(kind.lower())
        try:
            return self.get({"apiVersion": api_version, "kind": known, "metadata": metadata})
        except RefusedError as error:
            if error.code != 404:
                raise
            return {}

    def delete(self, obj: Raw) -> Raw:
        """Removes it."""
        return self.ask("DELETE", self.path(obj))

    def namespace(self, prefix: str = "test", labels: Mapping[str, str] | None = None) -> str:
        """Makes a namespace that nothing else uses; returns its name."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        metadata = {"name": name, "labels": dict(labels or {})}
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        return name

    def delete_namespace(self, name: str) -> None:
        """Deletes a namespace and everything in it; no controller of ours may run for it any
        more."""
        self.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.free(name)

    def free(self, namespace: str) -> None:
        """Deletes the objects with finalizers in a namespace, and removes these: their owners have
        ended.

        Otherwise the controllers retry to empty the namespace every few seconds, with a hundred
        requests each time, as long as the control plane runs.
        """
        for kinds in _WITH_FINALIZERS:
            path = kinds.format(namespace)
            for name in self._with_finalizers(path):
                with _suppress_missing():
                    self.ask("DELETE", f"{path}/{name}")
                    freed = {"metadata": {"finalizers": None}}
                    self._asked("PATCH", f"{path}/{name}", freed, MEDIA["merge"], "", {})

    def _with_finalizers(self, path: str) -> list[str]:
        with _suppress_missing():  # without the CRD there are no such objects
            found = (it["metadata"] for it in self.ask("GET", path)["items"])
            return [it["name"] for it in found if it.get("finalizers")]
        return []

    def service_account(
        self,
        namespace: str,
        name: str,
        rules: Sequence[Raw] = (),
        cluster_rules: Sequence[Raw] = (),
    ) -> str:
        """Makes a ServiceAccount with these rights, in its namespace or everywhere; returns its
        token."""
        metadata = {"namespace": namespace, "name": name}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        self.create(account)
        if rules:
            for obj in _grant("Role", metadata, rules, metadata):
                self.create(obj)
        if cluster_rules:
            everywhere = {"name": f"{namespace}-{name}"}
            for obj in _grant("ClusterRole", everywhere, cluster_rules, metadata):
                self.create(obj)
        return self.token(namespace, name)

    def token(self, namespace: str, name: str, seconds: int = 3600) -> str:
        """A new token of a ServiceAccount."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        answer = self.ask("POST", path, {"spec": {"expirationSeconds": seconds}})
        return str(answer["status"]["token"])

    def install_crds(self, *folders: Path) -> None:
        """Applies the CRDs of these folders; returns when they are served."""
        self._until_served([self.apply(it) for it in _definitions(folders)])

    def until_crds_are_served(self) -> None:
        """Waits for all stored CRDs: a server is ready before it has read their objects."""
        self._until_served(self.ask("GET", _CRDS)["items"])

    def _until_served(self, crds: Sequence[Raw]) -> None:
        deadline = monotonic() + 60
        for crd in crds:
            while not self._is_served(crd):
                assert monotonic() < deadline, f"{crd['metadata']['name']} is not served"
                sleep(0.02)

    def _is_served(self, crd: Raw) -> bool:
        """Asks for the resource itself, because the condition comes a moment before it is
        served."""
        spec = crd["spec"]
        version = spec["versions"][0]["name"]
        try:
            self.ask("GET", f"/apis/{spec['group']}/{version}/{spec['names']['plural']}")
        except RefusedError as error:
            if error.code not in {404, 429}:  # 429: "storage is (re)initializing"
                raise
            return False
        return True

    def _kind(self, api_version: str, kind: str) -> tuple[str, bool]:
        """The plural of a kind, and whether it is namespaced, by discovery."""
        if (api_version, kind) not in self._kinds:
            for it in self.ask("GET", _root(api_version))["resources"]:
                if "/" not in it["name"]:
                    self._kinds[api_version, it["kind"]] = (it["name"], it["namespaced"])
        return self._kinds[api_version, kind]

    def _version(self, kind: str) -> tuple[str, str]:
        """The version of a kind, the preferred one of its group if that has it, and its name. The
        kind is given in lower case."""
        if kind not in self._versions:
            groups = self.ask("GET", "/apis")["groups"]
            preferred = [it["preferredVersion"]["groupVersion"] for it in groups]
            every = [version["groupVersion"] for it in groups for version in it["versions"]]
            for version in dict.fromkeys(("v1", *preferred, *every)):
                for it in self.ask("GET", _root(version))["resources"]:
                    self._versions.setdefault(it["kind"].lower(), (version, it["kind"]))
        return self._versions[kind]


@contextmanager
def _suppress_missing() -> Iterator[None]:
    """Goes on after the block where the API server says 404."""
    try:
        yield
    except RefusedError as error:
        if error.code != 404:
            raise


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _read(content: bytes) -> Raw:
    try:
        answer = json.loads(content)
    except ValueError:
        return {"message": content.decode(errors="replace")}
    return answer if isinstance(answer, dict) else {"message": answer}


def _grant(kind: str, metadata: Raw, rules: Sequence[Raw], account: Raw) -> Iterable[Raw]:
    """A role and its binding to a ServiceAccount."""
    version = f"{RBAC}/v1"
    yield {"apiVersion": version, "kind": kind, "metadata": metadata, "rules": list(rules)}
    yield {
        "apiVersion": version,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", **account}],
    }


def _definitions(folders: Iterable[Path]) -> Iterator[Raw]:
    for folder in folders:
        for path in sorted(folder.glob("*.yaml")):
            for document in yaml.load_all(path.read_text(), yaml.CSafeLoader):
                if document and document.get("kind") == "CustomResourceDefinition":
                    yield document
