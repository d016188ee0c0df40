"""Headers that the configuration sets and removes on every route that does not say otherwise.

What a Service or its route says of a header wins. Source: Contour's configuration reference,
"PolicyConfig".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crds.contourconfiguration import DefaultHeadersPolicy, PolicySettings
from dag import nodes
from dag.configuration.readings import Errors, tell
from dag.values import formats, headers


@dataclass(frozen=True, slots=True)
class Defaults:
    """The headers, names in lower case; values may have variables in them."""

    request: tuple[tuple[str, str], ...] = ()
    request_remove: tuple[str, ...] = ()
    response: tuple[tuple[str, str], ...] = ()
    response_remove: tuple[str, ...] = ()
    is_for_ingress: bool = False


def defaults(policy: PolicySettings | None, errors: Errors) -> Defaults:
    """What the configuration says; what cannot be is told and left out."""
    if policy is None:
        return Defaults()
    request = policy.request_headers or DefaultHeadersPolicy()
    response = policy.response_headers or DefaultHeadersPolicy()
    return Defaults(
        tuple(_values("spec.policy.requestHeaders.set", request.set, errors)),
        tuple(_names("spec.policy.requestHeaders.remove", request.remove, errors)),
        tuple(_values("spec.policy.responseHeaders.set", response.set, errors)),
        tuple(_names("spec.policy.responseHeaders.remove", response.remove, errors)),
        bool(policy.apply_to_ingress),
    )


def request(
    own: nodes.HeaderPolicy | None, found: Defaults, variables: Mapping[str, str]
) -> nodes.HeaderPolicy | None:
    """The changes of requests to a Service, with the defaults."""
    return _merged(own, found.request, found.request_remove, variables)


def response(
    own: nodes.HeaderPolicy | None, found: Defaults, variables: Mapping[str, str]
) -> nodes.HeaderPolicy | None:
    """The changes of its answers, with the defaults."""
    return _merged(own, found.response, found.response_remove, variables)


def _merged(
    own: nodes.HeaderPolicy | None,
    values: tuple[tuple[str, str], ...],
    removed: tuple[str, ...],
    variables: Mapping[str, str],
) -> nodes.HeaderPolicy | None:
    if not values and not removed:
        return own
    known = own or nodes.HeaderPolicy()
    named = {*(name for name, _ in (*known.set, *known.add)), *known.remove}
    more = tuple((name, formats.value(it, variables)) for name, it in values if name not in named)
    found = nodes.HeaderPolicy(
        (*known.set, *more),
        known.add,
        (*known.remove, *(it for it in removed if it not in named)),
    )
    return None if found == nodes.HeaderPolicy() else found


def _values(path: str, written: Mapping[str, str], errors: Errors) -> Iterable[tuple[str, str]]:
    for name, value in sorted(written.items()):
        refusal = headers.change_refusal(name)
        if refusal or (refusal := headers.value_refusal(value)):
            tell(errors, f"{path}[{name[:60]}]", refusal)
        else:
            yield name.lower(), value


def _names(path: str, written: Iterable[str], errors: Errors) -> Iterable[str]:
    for index, name in enumerate(written):
        if refusal := headers.change_refusal(name):
            tell(errors, f"{path}[{index}]", f"{name[:60]!r} {refusal}")
        else:
            yield name.lower()
