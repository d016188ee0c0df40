"""The interface of modules that resolve filters of one kind that are objects of their own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from crds.meta import NamespacedName
from dag import nodes
from dag.engine.view import View
from dag.problems.places import Findings, Place


class Reference(NamedTuple):
    """A filter that a rule names."""

    target: NamespacedName
    at: Place
    """The field `extensionRef` of the route."""


Resolver = Callable[[View, Sequence[Reference], nodes.Policies], Findings[nodes.Policies]]
"""Adds what the filters of one kind ask for to the policies of a rule, in the order of the rule.

Raises Refused, with a problem of the condition ResolvedRefs, if one of them cannot be served: then
the rule is dropped. Problems that it yields are reported on the route as well.
"""
