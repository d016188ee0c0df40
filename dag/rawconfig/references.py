"""References of an EnvoyConfig: Secrets and EndpointSlices of its namespace.

Missing objects are waited for; that is no error of the EnvoyConfig. A Secret is read when a
resource is made of it, so a renewed certificate changes that resource and nothing else.
"""

from collections.abc import Iterable, Iterator

from crds.endpointslice import EndpointSlice
from crds.meta import NamespacedName
from dag import nodes, services, tables
from dag.engine.view import Index, View, query
from dag.rawconfig.content import READINGS, FromSecret, FromSlices, Item
from dag.references import secrets
from dag.references.trust import authorities_refusal
from dag.values import selectors


def _labelled(
    key: NamespacedName, found: EndpointSlice
) -> Iterable[tuple[tuple[str, str, str], NamespacedName]]:
    """By namespace, and by the key and value of each label; empty ones stand for all slices."""
    yield (key.namespace, "", ""), key
    yield from (((key.namespace, *it), key) for it in found.metadata.labels.items())


SLICES: Index[tuple[str, str, str], NamespacedName] = Index(
    "EndpointSlices by label", tables.ENDPOINT_SLICES, _labelled
)


@query
def missing(view: View, key: NamespacedName) -> tuple[str, ...]:
    """What an EnvoyConfig, as it is written, refers to that does not exist or cannot be used."""
    reading = view.read(READINGS, key)
    content = reading.content if reading is not None else None
    found = (_missing(view, it) for it in content.items) if content else ()
    return tuple(sorted({it for it in found if it}))


def _missing(view: View, item: Item) -> str:
    match item:
        case FromSecret():
            return secret_refusal(view, item)
        case FromSlices():
            return _slices_refusal(view, item)
        case _:
            return ""


def _slices_refusal(view: View, item: FromSlices) -> str:
    """Why endpoints cannot be found; empty if they can, be there some or none. EndpointSlices
    without endpoints may be without ports, too."""
    found = _slices(view, item)
    if not found:
        return f"no EndpointSlice for {item.name}"
    ports = [{port.name for port in it.ports} for it in found if it.endpoints]
    if ports and not any(item.port in it for it in ports):
        return f"no EndpointSlice for {item.name} has a port named {item.port!r}"
    return ""


@query
def left_out(view: View, key: NamespacedName) -> tuple[str, ...]:
    """The endpoints that an EnvoyConfig refers to, as it is written, and that are not served."""
    reading = view.read(READINGS, key)
    content = reading.content if reading is not None else None
    made = (it for it in content.items if isinstance(it, FromSlices)) if content else ()
    found = ((it.name, endpoints(view, it).left_out) for it in made)
    return tuple(f"endpoints of {name} are left out: {told}" for name, told in found if told)


def secret_refusal(view: View, item: FromSecret) -> str:
    """Why a secret of Envoy cannot be made of a Secret; empty if it can."""
    match item.form:
        case "tlsCertificate":
            problem = view.ask(secrets.refusal, item.secret)
            return problem.message if problem is not None else ""
        case "validationContext":
            why = authorities_refusal(authorities(view, item))
            return f"Secret {item.secret} {why}" if why else ""
        case "generic":
            has_it = generic(view, item) is not None
            where = "in a cluster, the Secret has to be of type Opaque"
            return "" if has_it else f"Secret {item.secret} has no value {item.key} ({where})"


def authorities(view: View, item: FromSecret) -> bytes | None:
    """The authorities in a Secret; `tls.crt` is one where there is no `ca.crt`, as in MARIN3R."""
    found = view.read(tables.SECRETS, item.secret)
    if found is None:
        return None
    return found.data.get("ca.crt") or found.data.get("tls.crt", b"")


def generic(view: View, item: FromSecret) -> bytes | None:
    """A value of a Secret; None if it is not there, empty, or not read (`contour.kubernetes`)."""
    found = view.read(tables.SECRETS, item.secret)
    return (found.data.get(item.key) or None) if found is not None else None


def endpoints(view: View, item: FromSlices) -> nodes.Endpoints:
    """The endpoints of all slices that are selected; perhaps none."""
    return services.of_slices(view, _slices(view, item), item.port)


def _slices(view: View, item: FromSlices) -> list[EndpointSlice]:
    return list(_selected(view, item))


def _selected(view: View, item: FromSlices) -> Iterator[EndpointSlice]:
    name, value = min((item.selector.match_labels or {}).items(), default=("", ""))
    for key in sorted(view.bucket(SLICES, (item.namespace, name, value))):
        found = view.read(tables.ENDPOINT_SLICES, key)
        if found is not None and selectors.selects(item.selector, found.metadata.labels):
            yield found
