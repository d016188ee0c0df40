"""Which requests a path of an Ingress takes.

Source: Ingress documentation, "Path types". A path of type ImplementationSpecific is an
expression if any of `^+*[]%` is in it, as in upstream Contour, and else the beginning of the path
as a string.
"""

from crds.ingress import HTTPIngressPath
from dag import nodes, regexes
from dag.problems import ingress as problems
from dag.problems.places import Place, Refused

MAX_LENGTH = 4096
"""Characters."""


def path(place: Place, written: HTTPIngressPath) -> nodes.Path:
    """The path of a route."""
    text = written.path or "/"
    if len(text) > MAX_LENGTH:
        raise Refused(problems.path_not_valid(place, text[:60], "is too long"))
    if written.path_type == "ImplementationSpecific":
        return _specific(place, text)
    if not text.startswith("/") or not {"?", "#"}.isdisjoint(text):
        why = "must start with / and have neither query nor fragment"
        raise Refused(problems.path_not_valid(place, text, why))
    if written.path_type == "Exact":
        return nodes.Exact(text)
    elements = text.rstrip("/")
    return nodes.Segments(elements) if elements else nodes.Prefix("/")


def _specific(place: Place, text: str) -> nodes.Path:
    if set("^+*[]%").isdisjoint(text):
        return nodes.Prefix(text)
    if refusal := regexes.refusal(text):
        raise Refused(problems.path_not_valid(place, text, refusal))
    return nodes.Regex(text)
