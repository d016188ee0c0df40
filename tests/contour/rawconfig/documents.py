"""EnvoyConfigs as documents."""

from typing import Any

import yaml

from contour.rawconfig.reading import Reader
from crds import decode
from crds.envoyconfig import EnvoyConfig
from crds.envoyconfigrevision import EnvoyConfigRevision
from dag.rawconfig.content import Reading

HCM = (
    "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3"
    ".HttpConnectionManager"
)


def document(spec: str, name: str = "test") -> dict[str, Any]:
    """The document of a specification in YAML; `nodeID` is `proxy` unless it says another one."""
    return {
        "apiVersion": "marin3r.3scale.net/v1alpha1",
        "kind": "EnvoyConfig",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeID": "proxy", **yaml.load(spec, yaml.CSafeLoader)},
    }


def read(spec: str, reader: Reader | None = None) -> Reading:
    """What came of reading it, by somebody who may have read it before."""
    found = decode.decode(document(spec))
    assert isinstance(found, decode.Decoded)
    assert not found.errors, found.errors
    assert isinstance(found.object, EnvoyConfig)
    return (reader or Reader()).reading(found.object)


def revision(spec: str, version: str) -> EnvoyConfigRevision:
    """The stored revision of an EnvoyConfig."""
    made = document(spec) | {"kind": "EnvoyConfigRevision"}
    made["spec"]["version"] = version
    found = decode.decode(made)
    assert isinstance(found, decode.Decoded)
    assert isinstance(found.object, EnvoyConfigRevision)
    return found.object


def refused(spec: str) -> list[str]:
    """The complaints about the document itself."""
    found = decode.decode(document(spec))
    assert isinstance(found, decode.Decoded)
    return [str(it) for it in found.errors]
