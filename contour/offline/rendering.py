"""Renders everything that the controller would do with manifests, for `contour translate`.

The controller is the same as in an instance; only the fleets are plain collections here. Acceptance
by Envoy is assumed. Private keys, and all other values that Envoy's definitions mark as sensitive,
such as API keys and passwords, are replaced before anything is shown. So are the key sets of tokens
that are no public keys alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from udpa.annotations import sensitive_pb2

from contour.envoy import definitions, messages, parsing
from contour.envoy.shards import MARKER
from contour.rawconfig.snapshot import Snapshot
from contour.xds import resources
from contour.xds.identities import NodeIdentity
from crds.raw import Raw, is_list, is_mapping
from dag.rawconfig.claims import NodeKey
from dag.references import jwks

SECTIONS = {
    "listeners": resources.LISTENER,
    "routes": resources.ROUTE,
    "clusters": resources.CLUSTER,
    "endpoints": resources.ENDPOINTS,
    "secrets": resources.SECRET,
    "scoped_routes": resources.SCOPE,
    "extension_configs": resources.EXTENSION,
    "runtime": resources.RUNTIME_LAYER,
}
"""The sections of the output, and the xDS type of each."""

REDACTED = "[redacted]"


@dataclass(slots=True)
class Fleets:
    """The resources of every fleet, as they would be served."""

    by_name: defaultdict[str, dict[resources.Name, resources.Resource]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    nodes: set[str] = field(default_factory=set[str])
    """Those of node IDs."""

    def publish(self, fleet: str, changes: Iterable[resources.Change]) -> None:
        """Takes the changed parts of a fleet."""
        held = self.by_name[fleet]
        for name, part, value in changes:
            resource = held.setdefault(name, resources.Resource(name))
            resource.put(part, value)
            if not resource.parts:
                del held[name]

    def publish_node(
        self, key: NodeKey, found: Snapshot | None, changes: Iterable[resources.Change]
    ) -> None:
        """Takes the changed parts of a node ID, whose fleet is named by its URI."""
        name = str(NodeIdentity(*key))
        if found is None:
            self.by_name.pop(name, None)
            self.nodes.discard(name)
        else:
            self.nodes.add(name)
            self.publish(name, changes)

    def shown(self, fleet: str, *, every: bool = True) -> dict[str, list[dict[str, Any]]]:
        """The protobuf JSON mapping of a fleet's resources, by section, sorted by name.

        `every`: with the hundreds of RouteConfigurations of a listener that have no hosts, and the
        scopes that lead to them.
        """
        held = self.by_name.get(fleet, {})
        if not every:
            held = {name: it for name, it in held.items() if not _is_empty(it, held)}
        return {
            section: [
                _shown(resource)
                for name, resource in sorted(held.items())
                if name.type_url == type_url
            ]
            for section, type_url in SECTIONS.items()
        }


def _is_empty(
    resource: resources.Resource, held: Mapping[resources.Name, resources.Resource]
) -> bool:
    """Whether it is a RouteConfiguration without hosts, or a scope that leads to one. The hosts of
    listeners are parts of their own; those of gRPC clients and EnvoyConfigs are in the head."""
    if resource.name.type_url == resources.SCOPE:
        table = getattr(_parsed(resource), "route_configuration_name")  # noqa: B009 — no stubs
        led = held.get(resources.Name(resources.ROUTE, table))
        return led is not None and _is_empty(led, held)
    if resource.name.type_url != resources.ROUTE or resource.parts.keys() != {""}:
        return False
    found = route_pb2.RouteConfiguration.FromString(resource.body())
    return not found.HasField("vhds") and all(it.name == MARKER for it in found.virtual_hosts)


def _parsed(resource: resources.Resource) -> Message:
    message = messages.TYPES[resource.name.type_url]()
    message.ParseFromString(resource.body())
    return message


def _shown(resource: resources.Resource) -> dict[str, Any]:
    message = _parsed(resource)
    if resource.name.type_url == resources.SECRET:
        _redact(message)
    shown: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return _ordered(definitions.of(message.DESCRIPTOR.full_name), shown)


def _ordered(of: Descriptor | None, value: Raw) -> Raw:
    """The JSON of a message with sorted maps, since protobuf changes their order each time, and
    without sensitive values."""
    fields = parsing.fields_of(of) if of is not None else {}
    if "@type" in value:
        inner = definitions.of(str(value["@type"]).rpartition("/")[2])
        rest = {key: it for key, it in value.items() if key != "@type"}
        return {"@type": value["@type"], **_ordered(inner, rest)}
    # A message without fields of these names is a Struct, which is a map, too.
    every = value.items() if value.keys() <= fields.keys() else sorted(value.items())
    return {key: _ordered_field(fields.get(key), it) for key, it in every}


def _ordered_field(field: FieldDescriptor | None, value: object) -> object:
    if field is not None and field.GetOptions().Extensions[sensitive_pb2.sensitive]:
        return _redacted(value)
    if field is not None and field.full_name == _KEY_SET and not _is_public(value):
        return _redacted(value)
    if is_list(value):
        return [_ordered_field(field, it) for it in value]
    if not is_mapping(value):
        return value
    of = field.message_type if field is not None else None
    if of is not None and of.GetOptions().map_entry:
        inner = of.fields_by_name["value"]
        return {key: _ordered_field(inner, it) for key, it in sorted(value.items())}
    return _ordered(of, value)


_KEY_SET = f"{config_pb2.JwtProvider.DESCRIPTOR.full_name}.local_jwks"


def _is_public(source: object) -> bool:
    """Whether a DataSource has no secrets: it is the name of a file, or public keys."""
    if not is_mapping(source) or source.keys() & {"inline_bytes"}:
        return False
    return "inline_string" not in source or jwks.is_public(str(source["inline_string"]))


def _redacted(value: object) -> object:
    """The same structure, with all texts replaced."""
    if is_list(value):
        return [_redacted(it) for it in value]
    if is_mapping(value):
        return {key: _redacted(it) for key, it in value.items()}
    return REDACTED


def _redact(secret: Message) -> None:
    certificate = getattr(secret, "tls_certificate")  # noqa: B009 — no stubs for its type
    if certificate.HasField("private_key"):
        certificate.private_key.inline_string = REDACTED
    generic = getattr(secret, "generic_secret")  # noqa: B009 — no stubs for its type
    if generic.HasField("secret"):
        generic.secret.inline_string = REDACTED
