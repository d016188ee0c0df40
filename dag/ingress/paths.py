"""Which requests a path of an Ingress takes.

Source: Ingress documentation, "Path types". A path of type ImplementationSpecific is a regular
expression if it contains any of `^+*[]%`, as in upstream Contour, and otherwise a string prefix.
Elsewhere: paths that no request can have (`dag.values.paths`).
"""

from crds.ingress import HTTPIngressPath
from dag import nodes
from dag.problems import Refused
from dag.problems import ingress as problems
from dag.problems.places import Place
from dag.values import paths, regexes

MAX_LENGTH = 4096
"""Characters."""


def path(place: Place, written: HTTPIngressPath) -> nodes.Path:
    """The path of a route."""
    text = written.path or "/"
    if len(text) > MAX_LENGTH:
        raise Refused(problems.path_not_valid(place, text[:60], "is too long"))
    if written.path_type == "ImplementationSpecific":
        return _specific(place, text)
    _check(place, text)
    if written.path_type == "Exact":
        return nodes.Exact(text)
    elements = text.rstrip("/")
    return nodes.Segments(elements) if elements else nodes.Prefix("/")


def _specific(place: Place, text: str) -> nodes.Path:
    if set("^+*[]%").isdisjoint(text):
        _check(place, text, is_beginning=True)
        return nodes.Prefix(text)
    if refusal := regexes.refusal(text):
        raise Refused(problems.path_not_valid(place, text, refusal))
    return nodes.Regex(text)


def _check(place: Place, text: str, *, is_beginning: bool = False) -> None:
    if refusal := paths.refusal(text, is_beginning=is_beginning):
        raise Refused(problems.path_not_valid(place, text[:60], refusal))
