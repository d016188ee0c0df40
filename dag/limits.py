"""Circuit breakers: how much may be open towards a Service at once, for each Envoy.

They are fields of the configuration and ExtensionServices, and annotations of a Service (Contour
documentation, "Annotations Reference"). 0 and absent mean the default.
"""

from collections.abc import Iterator

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
    texts = (metadata.annotations.get(name, "") for name in ANNOTATIONS)
    found = nodes.CircuitBreakers(*(_number(it) or None for it in texts))
    return None if found == nodes.CircuitBreakers() else found


def unread(metadata: ObjectMeta) -> Iterator[tuple[str, str]]:
    """The annotations whose value is no limit, each with the reason."""
    for name in ANNOTATIONS:
        text = metadata.annotations.get(name)
        if text is not None and _number(text) is None:
            yield name, f"{text[:60]!r} is no number from 0 to {2**32 - 1}"


ANNOTATIONS = (
    "projectcontour.io/max-connections",
    "projectcontour.io/max-pending-requests",
    "projectcontour.io/max-requests",
    "projectcontour.io/max-retries",
    "projectcontour.io/per-host-max-connections",
)
"""In the order of the fields of a node."""


def _number(text: str) -> int | None:
    digits = text.strip()
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= 10
    return int(digits) if is_number and int(digits) < 2**32 else None
