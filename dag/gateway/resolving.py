"""What is asked of who resolves the filters of one kind that are objects of their own."""

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
"""Adds to the policies of a rule what its filters of one kind ask for, in the order of the rule.

Refused, with a problem of the condition ResolvedRefs, if one of them cannot be served: the rule is
dropped then. Problems that it yields are told on the route beside.
"""
