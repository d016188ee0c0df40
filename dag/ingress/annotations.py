"""What annotations of an Ingress ask for, and which that Contour knows are not served yet."""

from collections.abc import Iterator
from typing import Literal

from crds.ingress import Ingress
from dag.problems import Problem
from dag.problems import ingress as problems

Plain = Literal["serve", "redirect", "nothing"]
"""What plain HTTP does with the routes of an Ingress."""

FORCE_SSL = "ingress.kubernetes.io/force-ssl-redirect"
ALLOW_HTTP = "kubernetes.io/ingress.allow-http"

NOT_SERVED = tuple(
    f"projectcontour.io/{it}"
    for it in (
        "num-retries",
        "per-try-timeout",
        "request-timeout",
        "response-timeout",
        "retry-on",
        "tls-cert-namespace",
        "tls-maximum-protocol-version",
        "tls-minimum-protocol-version",
        "websocket-routes",
    )
)


def plain(ingress: Ingress) -> Plain:
    """What plain HTTP does; a redirect wins over nothing."""
    annotations = ingress.metadata.annotations
    if annotations.get(FORCE_SSL) == "true":
        return "redirect"
    return "nothing" if annotations.get(ALLOW_HTTP) == "false" else "serve"


def ignored(ingress: Ingress) -> Iterator[Problem]:
    """The annotations that users of Contour expect to work."""
    for name in NOT_SERVED:
        if name in ingress.metadata.annotations:
            yield problems.ignored_annotation(problems.annotation(ingress.metadata.key, name))
