"""Attributes of cookies that are changed on their way to the client.

Source: HTTPProxy reference, "CookieRewritePolicy". What users write here reaches Envoy as data of
a filter, never as a part of its program (`contour.envoy`).
"""

from collections.abc import Iterable, Iterator

from crds import policies as crd
from dag import nodes
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place


def rewrites(
    place: Place, written: Iterable[crd.CookieRewritePolicy]
) -> tuple[nodes.CookieRewrite, ...]:
    """What is changed, in the order in which it was written."""
    return tuple(_rewrites(place, written))


def _rewrites(
    place: Place, written: Iterable[crd.CookieRewritePolicy]
) -> Iterator[nodes.CookieRewrite]:
    seen: set[str] = set()
    for index, it in enumerate(written):
        at = place.at("cookieRewritePolicies", index)
        if it.name in seen:
            text = f"cookie {it.name[:60]!r} is rewritten twice"
            raise Refused(problems.cookie_rewrite_not_valid(at, text))
        seen.add(it.name)
        yield _rewrite(at, it)


def _rewrite(place: Place, it: crd.CookieRewritePolicy) -> nodes.CookieRewrite:
    path = it.path_rewrite.value if it.path_rewrite else None
    domain = it.domain_rewrite.value if it.domain_rewrite else None
    if all(value is None for value in (path, domain, it.secure, it.same_site)):
        text = "needs at least one of pathRewrite, domainRewrite, secure and sameSite"
        raise Refused(problems.cookie_rewrite_not_valid(place, text))
    return nodes.CookieRewrite(it.name, path, domain, it.secure, it.same_site)
