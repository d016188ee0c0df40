"""What the policies of Envoy Gateway apply to: Gateways, their listeners, routes and their rules.

The fields and limits are those of Envoy Gateway 1.9. A policy names its targets, or selects them by
their labels.
"""

from typing import Annotated

from pydantic import Field

from crds.fields import Subdomain
from crds.gateway.known import Known
from crds.gateway.references import GROUP, Group, KindName, ObjectName
from crds.gateway.selector import LabelSelector, LabelSelectorRequirement
from crds.meta import ObjectMeta, excerpt, model
from crds.rules import rule


@model
class PolicyTargetReference:
    """An object in the namespace of the policy, or a part of it."""

    group: Group
    """The API group of the target: `gateway.networking.k8s.io`."""
    kind: KindName
    """The kind of the target, such as `Gateway`."""
    name: ObjectName
    """The name of the target."""
    section_name: Subdomain | None = None
    """The name of a listener of the target, or of a rule if the target is a route; the whole target
    if absent."""


@model
class TargetNamespaces:
    """The namespaces that targets are selected in."""

    from_: Annotated[str, Known("Same", "All", "Selector")] = Field(
        default="Same", validation_alias="from"
    )
    """`Same` for the namespace of the policy, `All`, or `Selector`. The default is `Same`. A target
    in another namespace requires a ReferenceGrant there."""
    selector: LabelSelector | None = None
    """The labels of the namespaces; required with `Selector`."""


@model
class TargetSelector:
    """Targets by their labels."""

    group: Group = GROUP
    """The API group of the targets. The default is `gateway.networking.k8s.io`."""
    kind: KindName
    """The kind of the objects that are selected, such as `Gateway`."""
    match_labels: dict[str, str] | None = None
    """The labels that must be there with exactly these values."""
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    """Further conditions on labels, all of which must be met."""
    namespaces: TargetNamespaces | None = None
    """The namespaces of the targets; that of the policy if absent."""


@model
class PolicyTargets:
    """The targets of a policy; the specification of each kind of policy begins with them."""

    target_ref: PolicyTargetReference | None = None
    """The only target of the policy, in its namespace. Use `targetRefs` instead."""
    target_refs: tuple[PolicyTargetReference, ...] = ()
    """The objects that the policy is for, in its namespace."""
    target_selectors: tuple[TargetSelector, ...] = ()
    """Further objects that the policy is for, by their labels."""
    _some = rule(
        "either targetRef or targetRefs must be used, or targetSelectors",
        lambda it: (it.target_ref is None) == bool(it.target_refs) or bool(it.target_selectors),
        "has(self.targetRef) != (has(self.targetRefs) && self.targetRefs.size() > 0) ||"
        " (has(self.targetSelectors) && self.targetSelectors.size() > 0)",
    )


@excerpt
class UnreadPolicy:
    """What is read of a policy with errors. It applies to its targets, and closes them."""

    metadata: ObjectMeta
    spec: PolicyTargets
    """The targets."""
