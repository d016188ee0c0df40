"""Reads the resources of an EnvoyConfig, in either spelling.

`resources` is a list of objects; `envoyResources` has texts in JSON or YAML, by type. Secret values
are never part of an EnvoyConfig: they are taken from Secrets of the same namespace.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from contour.files import parse
from crds import envoyconfig, screening
from crds.envoyconfig import (
    EnvoyConfig,
    EnvoyResources,
    Resource,
    ResourceType,
    Serialization,
    TextResource,
)
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.meta import NamespacedName
from crds.raw import Raw, is_mapping, mapping
from dag.rawconfig.content import FromSecret, FromSlices, Remark
from dag.values.selectors import OPERATORS

MOST_CHARACTERS = 4 << 20
"""The most characters of canonical JSON that the texts of one EnvoyConfig may stand for. Aliases of
YAML stand for more than is written."""


class Written(NamedTuple):
    """A resource as it is written."""

    path: str
    type: ResourceType
    canonical: str
    """The canonical JSON, which is the same for equal content."""
    value: Raw
    """The value; empty if the resource is made of another object."""
    source: FromSecret | FromSlices | None = None


@dataclass(slots=True)
class Notes:
    """Errors, and ignored fields."""

    errors: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)


class _Refused(Exception):  # noqa: N818 (a decision, not a failure)
    def __init__(self, path: str, text: str) -> None:
        super().__init__(text)
        self.remark = Remark(path, text)


def resources(found: EnvoyConfig | EnvoyConfigRevision, notes: Notes) -> Iterator[Written]:
    """All resources that can be read."""
    spec, namespace = found.spec, found.metadata.namespace
    if spec.resources is not None and spec.envoy_resources is None:
        yield from _of_list(namespace, spec.resources, notes)
    elif spec.envoy_resources is not None and spec.resources is None:
        yield from _of_texts(spec.envoy_resources, spec.serialization, notes)
        yield from _of_secrets(namespace, spec.envoy_resources, notes)
    else:
        told = "exactly one of resources and envoyResources must be set"
        notes.errors.append(Remark("spec", told))


def _of_list(namespace: str, written: tuple[Resource, ...], notes: Notes) -> Iterator[Written]:
    for index, it in enumerate(written):
        try:
            yield _resource(namespace, it, f"spec.resources[{index}]")
        except _Refused as refused:
            notes.errors.append(refused.remark)


def _resource(namespace: str, it: Resource, path: str) -> Written:
    _require_one_source(it, path)
    if it.value is not None:
        value: Raw = json.loads(it.value)
        return Written(f"{path}.value", it.type, it.value, value)
    source = _source(namespace, it, path)
    return _made(path, it.type, source)


def _made(path: str, type_: ResourceType, source: FromSecret | FromSlices) -> Written:
    if isinstance(source, FromSecret):
        said: list[object] = [source.name, source.secret.name, source.form, source.key]
    else:
        labels = source.selector.match_labels or {}
        more = [[it.key, it.operator, [*it.values]] for it in source.selector.match_expressions]
        said = [source.name, {**labels}, more, source.port]
    return Written(path, type_, envoyconfig.canonical(said), {}, source)


_SOURCES: Mapping[ResourceType, tuple[str, ...]] = {
    "secret": ("generateFromTlsSecret", "generateFromOpaqueSecret"),
    "endpoint": ("value", "generateFromEndpointSlices"),
}
_INLINE = "must not be set: a secret is taken from a Secret, and not written down here"


def _require_one_source(it: Resource, path: str) -> None:
    sources = {
        "value": it.value,
        "generateFromTlsSecret": it.generate_from_tls_secret,
        "generateFromOpaqueSecret": it.generate_from_opaque_secret,
        "generateFromEndpointSlices": it.generate_from_endpoint_slices,
    }
    given = [name for name, source in sources.items() if source is not None]
    allowed = _SOURCES.get(it.type, ("value",))
    for name in given:
        if name not in allowed:
            is_inline = (it.type, name) == ("secret", "value")
            raise _Refused(f"{path}.{name}", _INLINE if is_inline else f"is not for a {it.type}")
    if len(given) != 1:
        raise _Refused(path, f"exactly one of {', '.join(allowed)} must be set")
    if it.blueprint is not None and it.generate_from_tls_secret is None:
        raise _Refused(f"{path}.blueprint", "is for generateFromTlsSecret only")


def _source(namespace: str, it: Resource, path: str) -> FromSecret | FromSlices:
    if (name := it.generate_from_tls_secret) is not None:
        return FromSecret(name, NamespacedName(namespace, name), it.blueprint or "tlsCertificate")
    if (opaque := it.generate_from_opaque_secret) is not None:
        secret = NamespacedName(namespace, opaque.name)
        return FromSecret(opaque.alias, secret, "generic", opaque.key)
    slices = it.generate_from_endpoint_slices
    assert slices is not None
    for index, requirement in enumerate(slices.selector.match_expressions):
        if requirement.operator not in OPERATORS:
            where = f"{path}.generateFromEndpointSlices.selector.matchExpressions[{index}].operator"
            raise _Refused(where, f"must be one of {', '.join(OPERATORS)}")
    return FromSlices(slices.cluster_name, namespace, slices.selector, slices.target_port)


def _of_texts(written: EnvoyResources, serialization: Serialization, notes: Notes) -> list[Written]:
    """All that can be read; none if they stand for too much, which would take long to compare."""
    by_field: Mapping[str, tuple[ResourceType, tuple[TextResource, ...]]] = {
        "endpoints": ("endpoint", written.endpoints),
        "clusters": ("cluster", written.clusters),
        "routes": ("route", written.routes),
        "scopedRoutes": ("scopedRoute", written.scoped_routes),
        "listeners": ("listener", written.listeners),
        "runtimes": ("runtime", written.runtimes),
        "extensionConfigs": ("extensionConfig", written.extension_configs),
    }
    result, length = list[Written](), 0
    for name, (type_, texts) in by_field.items():
        for index, it in enumerate(texts):
            path = f"spec.envoyResources.{name}[{index}].value"
            try:
                value = _value(it.value, serialization, path, notes)
            except _Refused as refused:
                notes.errors.append(refused.remark)
                continue
            result.append(Written(path, type_, envoyconfig.canonical(value), value))
            length += len(result[-1].canonical)
            if length > MOST_CHARACTERS:
                told = f"makes all texts more than {MOST_CHARACTERS:,} characters of JSON"
                notes.errors.append(Remark(path, told))
                return []
    return result


def _value(text: str, serialization: Serialization, path: str, notes: Notes) -> Raw:
    """The object of a text. How deep it may be nested is left to Protobuf, and what was taken once
    is not refused by a later release: a stored revision would no longer be served."""
    try:
        is_json = serialization == "json"
        read = _json(text, path, notes) if is_json else parse.value(text.encode())
        if not is_mapping(read):
            raise _Refused(path, "must be an object")
        value = mapping(screening.without_nulls(read))
        envoyconfig.canonical(value).encode()
    except parse.MalformedError as error:
        raise _Refused(path, f"line {error.line + 1}: {error.message}") from None
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise _Refused(path, f"has {half!r}, which is half of a surrogate pair") from None
    except RecursionError:
        raise _Refused(path, "is nested too deeply") from None
    except (ValueError, TypeError) as error:
        hint = "" if serialization == "yaml" else "; for YAML, set serialization: yaml"
        raise _Refused(path, f"is not JSON: {error}{hint}") from None
    return value


def _json(text: str, path: str, notes: Notes) -> object:
    """The value of a text in JSON. Of equal keys the last counts, which is told."""
    repeated: dict[str, None] = {}

    def last(pairs: list[tuple[str, object]]) -> Raw:
        result = dict(pairs)
        if len(result) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated.update((it, None) for it, count in counts.items() if count > 1)
        return result

    read: object = json.loads(text, object_pairs_hook=last)
    if repeated:
        few = ", ".join(map(repr, islice(repeated, _FEW)))
        told = f"has keys more than once in one object, of which the last counts: {few}"
        notes.warnings.append(Remark(path, told))
    return read


_FEW = 5


def _of_secrets(namespace: str, written: EnvoyResources, notes: Notes) -> Iterator[Written]:
    for index, it in enumerate(written.secrets):
        path = f"spec.envoyResources.secrets[{index}]"
        if it.ref.namespace not in {"", namespace}:
            text = f"must be {namespace}: Secrets of other namespaces are not used"
            notes.errors.append(Remark(f"{path}.ref.namespace", text))
        else:
            secret = NamespacedName(namespace, it.ref.name or it.name)
            yield _made(path, "secret", FromSecret(it.name, secret, "tlsCertificate"))
