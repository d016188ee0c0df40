"""String matches of a ClientTrafficPolicy, and its changes of headers.

One that cannot be read closes the listeners of the policy: a header that it meant to remove may be
one that backends trust.
"""

from collections.abc import Callable, Iterable, Iterator

import re2

from crds.envoygateway import clientheaders as crd
from dag import nodes
from dag.problems import Refused
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.values import headers, regexes

Check = Callable[[str], bool]
Refusal = Callable[[str], str | None]


def is_oid(text: str) -> bool:
    """Whether this is an object identifier, such as `1.3.6.1`."""
    return re2.fullmatch(r"[0-2](\.\d{1,18}){1,40}", text) is not None


def match(type_: str, value: str, at: Place) -> nodes.ValueMatch:
    """A string match that is case-sensitive. Raises Refused."""
    if type_ == "RegularExpression":
        if why := regexes.refusal(value):
            raise Refused(complaints.policy_closes_listeners(at.at("value"), f"it {why}"))
        return nodes.ValueMatch("regex", value)
    if type_ == "Prefix":
        return nodes.ValueMatch("prefix", value)
    if type_ == "Suffix":
        return nodes.ValueMatch("suffix", value)
    if type_ == "Exact":
        return nodes.ValueMatch("exact", value)
    known = ", ".join(crd.MATCHES)
    text = f"{type_[:60]!r} is none of {known}"
    raise Refused(complaints.policy_closes_listeners(at.at("type"), text))


def of_name(written: crd.NameMatch, at: Place) -> nodes.ValueMatch:
    """A string match that ignores case. Raises Refused."""
    if written.type == "RegularExpression":
        return match(written.type, f"(?i){written.value}", at)
    found = match(written.type, written.value, at)
    return nodes.ValueMatch(found.operator, found.value.lower(), ignore_case=True)


def changes(
    written: crd.HeaderChanges | None, at: Place, refusal: Refusal
) -> nodes.HeaderChanges | None:
    """What is done with headers, none of which may be one that is refused. Raises Refused."""
    if written is None:
        return None
    return nodes.HeaderChanges(
        tuple(_values(written.set, at.at("set"), refusal)),
        tuple(_values(written.add, at.at("add"), refusal)),
        tuple(_values(written.add_if_absent, at.at("addIfAbsent"), refusal)),
        tuple(_removed(written.remove, at.at("remove"), refusal)),
        tuple(_matching(written.remove_on_match, at.at("removeOnMatch"), refusal)),
    )


def _values(
    written: Iterable[crd.ClientHeader], at: Place, refusal: Refusal
) -> Iterator[tuple[str, str]]:
    for index, it in enumerate(written):
        name = it.name.lower()
        if why := refusal(name):
            field = at.item(index).at("name")
            raise Refused(complaints.policy_closes_listeners(field, f"{name[:60]!r} {why}"))
        if why := headers.value_refusal(it.value):
            field = at.item(index).at("value")
            raise Refused(complaints.policy_closes_listeners(field, f"it {why}"))
        yield name, it.value


def _removed(written: Iterable[str], at: Place, refusal: Refusal) -> Iterator[str]:
    for index, it in enumerate(written):
        if why := refusal(it):
            text = f"{it[:60]!r} {why}"
            raise Refused(complaints.policy_closes_listeners(at.item(index), text))
        yield it.lower()


_KEPT = (
    *headers.HOP_BY_HOP,
    *headers.TOLD_BY_ENVOY,
    headers.FRAMING,
    *("host", ":authority", ":method", ":path", ":scheme", ":status", ":protocol"),
)


def _matching(
    written: Iterable[crd.NameMatch], at: Place, refusal: Refusal
) -> Iterator[nodes.ValueMatch]:
    for index, it in enumerate(written):
        found = of_name(it, at.item(index))
        kept = next((name for name in _KEPT if refusal(name) and _fits(found, name)), None)
        if kept is not None:
            text = f"it matches {kept}, which cannot be changed"
            raise Refused(complaints.policy_closes_listeners(at.item(index), text))
        yield found


def _fits(found: nodes.ValueMatch, name: str) -> bool:
    if found.operator == "regex":
        return re2.fullmatch(found.value, name) is not None
    if found.operator == "prefix":
        return name.startswith(found.value)
    if found.operator == "suffix":
        return name.endswith(found.value)
    return name == found.value
