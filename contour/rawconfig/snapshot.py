"""The tracked query for what the Envoys of a node ID are sent: parts of xDS resources."""

from typing import NamedTuple

from envoy.config.core.v3 import extension_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2

from contour.envoy import encoding, endpoints
from contour.rawconfig import reading
from contour.rawconfig.reading import TYPES
from contour.xds import resources, whole, wire
from contour.xds.resources import EXTENSION, Change, Name
from dag.engine.view import Kept, Plan, View, query
from dag.rawconfig import claims, references, serving
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.content import Fixed, FromSecret, FromSlices, Item, SecretValue, values
from dag.references import secrets


class Snapshot(NamedTuple):
    """Everything that the Envoys of a node ID are served."""

    edition: str
    version: str
    parts: tuple[Change, ...]
    values: frozenset[SecretValue] = frozenset()
    """The entries of Secrets that are served unchanged."""


@query
def _read(view: View, key: NodeKey) -> tuple[Item, ...]:
    """The resources that the Envoys of a node ID are served. To read those of an older revision
    takes long, so it is done once, and not whenever something that they refer to changes."""
    found = view.ask(serving.served, key)
    return reading.items(found[1]) if found is not None else ()


@query
def snapshot(view: View, key: NodeKey) -> Snapshot | None:
    """What the Envoys of a node ID are served; None if nothing is."""
    found = view.ask(serving.served, key)
    if found is None:
        return None
    edition, content = found
    items = view.ask(_read, key)
    every = (part for it in items for part in _parts(view, it, edition))
    return Snapshot(edition, content.version, tuple(every), values(items))


def _parts(view: View, item: Item, edition: str) -> list[Change]:
    match item:
        case Fixed():
            return _fixed(item, edition)
        case FromSecret():
            made = _secret(view, item)
            name = Name(resources.SECRET, item.name)
            return [Change(name, "", whole.part(made, edition))] if made is not None else []
        case FromSlices():
            name = Name(resources.ENDPOINTS, item.name)
            return [Change(name, "", whole.part(_endpoints(view, item), edition))]


def _fixed(item: Fixed, edition: str) -> list[Change]:
    """The parts of a resource; the content of an extension's configuration is a part of its own
    (`Resource.body`)."""
    name = Name(TYPES[item.type], item.name)
    if name.type_url != EXTENSION:
        return [Change(name, "", whole.part(item.body, edition))]
    message = extension_pb2.TypedExtensionConfig.FromString(item.body)
    head = wire.field(1, item.name.encode())
    head += wire.field(2, wire.field(1, message.typed_config.type_url.encode()))
    content = whole.part(message.typed_config.value, edition)
    return [Change(name, "", whole.part(head, edition)), Change(name, "content", content)]


def _secret(view: View, item: FromSecret) -> bytes | None:
    """The secret, inline; None while its values are missing."""
    if references.secret_refusal(view, item):
        return None
    result = secret_pb2.Secret(name=item.name)
    match item.form:
        case "tlsCertificate":
            pair = view.ask(secrets.secret, item.secret)
            if pair is not None:
                result.tls_certificate.certificate_chain.inline_bytes = pair.chain
                result.tls_certificate.private_key.inline_bytes = pair.key
        case "validationContext":
            trusted = references.authorities(view, item) or b""
            result.validation_context.trusted_ca.inline_bytes = trusted
        case "generic":
            result.generic_secret.secret.inline_bytes = references.generic(view, item) or b""
    return encoding.encoded(result)


def _endpoints(view: View, item: FromSlices) -> bytes:
    result = endpoint_pb2.ClusterLoadAssignment(cluster_name=item.name)
    found = references.endpoints(view, item)
    if found.endpoints:
        endpoints.write(result.endpoints.add(), found)
    return encoding.encoded(result)


PLAN = Plan(kept=(Kept(snapshot, claims.CLAIMS),), published=(snapshot,))
"""What the engine maintains for the Envoys of node IDs, on top of the graph."""
