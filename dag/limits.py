"""Circuit breakers: how much may be open towards a Service at once, for each Envoy.

They are fields of the configuration and ExtensionServices, and annotations of a Service (Contour
documentation, "Annotations Reference"). 0 and absent mean the default.
"""

from crds.envoysettings import CircuitBreakers
from crds.meta import ObjectMeta
from dag import nodes


def written(given: CircuitBreakers | None) -> nodes.CircuitBreakers | None:
    """Limits as a field has them."""
    if given is None:
        return None
    found = nodes.CircuitBreakers(
        given.max_connections or None,
        given.max_pending_requests or None,
        given.max_requests or None,
        given.max_retries or None,
        given.per_host_max_connections or None,
    )
    return None if found == nodes.CircuitBreakers() else found


def annotated(metadata: ObjectMeta) -> nodes.CircuitBreakers | None:
    """Limits by annotations; a value that is no number has no effect, as in upstream Contour."""
    if not metadata.annotations:
        return None

    def read(name: str) -> int | None:
        text = metadata.annotations.get(f"projectcontour.io/{name}", "").strip()
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else 0
        return number if 0 < number < 2**32 else None

    found = nodes.CircuitBreakers(
        read("max-connections"),
        read("max-pending-requests"),
        read("max-requests"),
        read("max-retries"),
        read("per-host-max-connections"),
    )
    return None if found == nodes.CircuitBreakers() else found
