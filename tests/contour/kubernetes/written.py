"""Objects as an API server has them, for the tests of the provider."""

from typing import Any

Raw = dict[str, Any]


def proxy(name: str = "a", port: int = 80, **metadata: Any) -> Raw:
    given = {"name": name, "namespace": "default", "uid": f"uid of {name}", "generation": 1}
    return {
        "apiVersion": "projectcontour.io/v1",
        "kind": "HTTPProxy",
        "metadata": given | metadata,
        "spec": {
            "virtualhost": {"fqdn": f"{name}.example.com"},
            "routes": [{"services": [{"name": "s", "port": port}]}],
        },
    }


def broken(name: str = "a", **metadata: Any) -> Raw:
    return proxy(name, **metadata) | {"spec": {"routes": [{"services": [{"port": "x"}]}]}}


def secret(name: str = "s", sort: str = "Opaque", **data: str) -> Raw:
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": sort,
        "data": {key.replace("_", "."): value for key, value in data.items()},
    }  # fmt: skip


def config_map(name: str = "c", **data: str) -> Raw:
    metadata = {"name": name, "namespace": "default"}
    content = {key.replace("_", "."): value for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": content}
