"""Path rewrites: which prefix of the path is replaced before a request is forwarded, and by what.

The replacement for exactly the route's own prefix counts, includes counted in; else the one that
names no prefix. Source: HTTPProxy reference, "PathRewritePolicy". Elsewhere: where the slashes go
(`contour.envoy`).
"""

from collections.abc import Iterable

from crds import policies
from dag import nodes
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.values import headers


def prefix(
    place: Place, policy: policies.PathRewritePolicy | None, match: nodes.Match
) -> str | None:
    """What replaces the prefix of the route; None if nothing does."""
    if policy is None or not policy.replace_prefix:
        return None
    if not isinstance(match.path, nodes.Prefix):
        text = "replaces a prefix, but the route matches none"
        raise Refused(problems.rewrite_without_prefix(place, text))
    replacements = _replacements(place, policy.replace_prefix)
    return replacements.get(match.path.path, replacements.get(_ANY))


def without_slash(
    policy: policies.PathRewritePolicy | None, match: nodes.Match
) -> nodes.Segments | None:
    """The prefix of a route without its last slash, if it is replaced: `/foo` of `/foo/`.

    Upstream Contour rewrites requests for that, too. None if there is none.
    """
    if policy is None or not isinstance(match.path, nodes.Prefix):
        return None
    path = match.path.path
    is_replaced = any((it.prefix or _ANY) in (_ANY, path) for it in policy.replace_prefix)
    bare = path.removesuffix("/")
    if not is_replaced or bare in ("", path):
        return None
    return nodes.Segments(bare)


_ANY = ""


def _replacements(place: Place, rules: Iterable[policies.ReplacePrefix]) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, rule in enumerate(rules):
        at, named = place.at("replacePrefix", index), rule.prefix or _ANY
        if named in found and named == _ANY:
            raise Refused(problems.ambiguous_replacement(at, "more than one is for any prefix"))
        if named in found:
            text = f"more than one is for prefix {named}"
            raise Refused(problems.duplicate_replacement(at, text))
        if not rule.replacement.startswith("/"):
            text = "the replacement must start with /"
            raise Refused(problems.replacement_not_valid(at, text))
        if refusal := headers.value_refusal(rule.replacement):
            raise Refused(problems.replacement_not_valid(at, f"the replacement {refusal}"))
        found[named] = rule.replacement
    return found
