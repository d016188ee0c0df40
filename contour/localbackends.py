"""The option `--backend` of `contour run`: addresses of this machine for Services."""

import re
from collections.abc import Iterable, Mapping

from contour.host import errors
from crds.meta import NamespacedName
from dag import localbackends
from dag.nodes import Endpoint

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"(?:(?P<namespace>{_LABEL})/)?(?P<name>{_LABEL})=(?P<address>.+)")


def named(options: Iterable[str]) -> Mapping[NamespacedName, tuple[Endpoint, ...]]:
    """The values of `--backend [NAMESPACE/]NAME=ADDRESS:PORT`. Raises RefusedError."""
    found: dict[NamespacedName, tuple[Endpoint, ...]] = {}
    for option in options:
        match = _NAME.fullmatch(option)
        if match is None:
            raise errors.RefusedError(
                f"--backend {option}: write [NAMESPACE/]NAME=ADDRESS:PORT, such as "
                "cart=127.0.0.1:9103"
            )
        service = NamespacedName(match["namespace"] or "default", match["name"])
        parsed = localbackends.parsed(match["address"])
        if parsed.fault:
            raise errors.RefusedError(f"--backend {option}: {parsed.fault}")
        found[service] = tuple(sorted({*found.get(service, ()), *parsed.endpoints}))
    return found


def written(backends: Mapping[NamespacedName, tuple[Endpoint, ...]]) -> list[str]:
    """The values of `--backend` that name these addresses: `named` reads them."""
    return [
        f"{service.namespace}/{service.name}={_bracketed(it.address)}:{it.port}"
        for service, endpoints in backends.items()
        for it in endpoints
    ]


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
