"""Which start of the path is replaced before a request is forwarded, and by what.

The replacement for exactly the route's own prefix counts, includes counted in; else the one that
names no prefix. Source: HTTPProxy reference, "PathRewritePolicy". Elsewhere: where the slashes go
(`contour.envoy`).
"""

from collections.abc import Iterable

from crds import policies
from dag import nodes
from dag.problems import httpproxy as problems
from dag.problems.places import Place, Refused
from dag.values import headers


def prefix(
    place: Place, policy: policies.PathRewritePolicy | None, match: nodes.Match
) -> str | None:
    """What replaces the prefix of the route; None if nothing does."""
    if policy is None or not policy.replace_prefix:
        return None
    if not isinstance(match.path, nodes.Prefix):
        raise _not_valid(place, "MustHavePrefix", "replaces a prefix, but the route matches none")
    replacements = _replacements(place, policy.replace_prefix)
    return replacements.get(match.path.path, replacements.get(_ANY))


_ANY = ""


def _replacements(place: Place, rules: Iterable[policies.ReplacePrefix]) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, rule in enumerate(rules):
        at, named = place.at("replacePrefix", index), rule.prefix or _ANY
        if named in found and named == _ANY:
            raise _not_valid(at, "AmbiguousReplacement", "more than one is for any prefix")
        if named in found:
            raise _not_valid(at, "DuplicateReplacement", f"more than one is for prefix {named}")
        if not rule.replacement.startswith("/"):
            raise _not_valid(at, "ReplacementNotValid", "the replacement must start with /")
        if refusal := headers.value_refusal(rule.replacement):
            raise _not_valid(at, "ReplacementNotValid", f"the replacement {refusal}")
        found[named] = rule.replacement
    return found


def _not_valid(place: Place, reason: str, text: str) -> Refused:
    return Refused(problems.prefix_replace_not_valid(place, reason, text))
