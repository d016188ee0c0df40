"""A namespace and a kind on the double or the real API server, for the tests that compare them."""

import asyncio
import secrets
import ssl
from typing import Any, Self

from tests.testbed.apiserver import LONGEST_WAIT, Answer, Client, Raw

GROUP = "truth.example"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Api(Client):
    """An API server, with a namespace and a kind without a schema for tests to use."""

    def __init__(self, url: str, token: str = "", tls: ssl.SSLContext | None = None) -> None:
        super().__init__(url, token, tls)
        self.namespace = f"truth-{secrets.token_hex(4)}"
        self.powerless = ""  # the token of somebody without any right

    @property
    def things(self) -> str:
        """The path of objects of a custom kind with a status."""
        return f"/apis/{GROUP}/v1/namespaces/{self.namespace}/things"

    def built_in(self, plural: str, group: str = "") -> str:
        """The path of objects of a built-in kind."""
        root = f"/apis/{group}/v1" if group else "/api/v1"
        return f"{root}/namespaces/{self.namespace}/{plural}"

    async def make(self, name: str, **metadata: Any) -> Answer:
        """Makes a thing."""
        return await self.request("POST", self.things, thing(name, **metadata))

    async def version(self) -> str:
        """The current resourceVersion of the things, from which a watch may begin."""
        return str((await self.request("GET", self.things)).metadata["resourceVersion"])

    async def __aenter__(self) -> Self:
        """Makes the namespace and the kind; returns when the kind is served."""
        await super().__aenter__()
        await self.request("POST", CRDS, definition("things", "Thing"))
        metadata = {"name": self.namespace}
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        answer = await self.request("POST", "/api/v1/namespaces", made)
        assert answer.code == 201, answer.body
        await self._served(self.things)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.request("DELETE", f"/api/v1/namespaces/{self.namespace}")
        await super().__aexit__()

    async def define_another(self) -> str:
        """Defines one more kind; returns its plural name (the kind is its `title()`)."""
        plural = f"others{secrets.token_hex(4)}"
        await self.request("POST", CRDS, definition(plural, plural.title()))
        await self._served(f"/apis/{GROUP}/v1/namespaces/{self.namespace}/{plural}")
        return plural

    async def _served(self, path: str) -> None:
        async with asyncio.timeout(LONGEST_WAIT):
            while (await self.request("GET", path)).code != 200:
                await asyncio.sleep(0.02)


def thing(name: str, **metadata: Any) -> Raw:
    """An object of the kind for tests."""
    named = {"name": name, **metadata}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": named, "spec": {"x": 1}}


def definition(plural: str, kind: str) -> Raw:
    """A CRD whose objects may hold anything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": spec,
    }
