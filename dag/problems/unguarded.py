"""Problems of guards: what closes listeners and routes of the Gateway API, or leaves them open.

They are in the conditions that the Gateway API has for unserved parts (`gateway`). Elsewhere: that
the object has a guard of another controller at all (`anywhere`).
"""

from crds.meta import ObjectRef
from crds.records import replace
from dag.problems import Problem
from dag.problems.gateway import DROPPED, annotation, rule_dropped
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway

_CLOSED = "so the listener answers every request with 503"


def listener_filter_not_served(filter_: Place, why: str) -> Problem:
    """A filter of a type, or with a value, that is not known here."""
    return filter_.error(ConditionType.Accepted, Gateway.UnsupportedValue, f"{why}, {_CLOSED}")


def listener_filter_not_valid(filter_: Place, why: str) -> Problem:
    return filter_.error(ConditionType.Accepted, Gateway.InvalidListenerFilter, f"{why}, {_CLOSED}")


def listener_filters_on_stream(filters: Place, protocol: str) -> Problem:
    why = f"may be set only with protocol HTTP or HTTPS, not {protocol}; the listener is closed"
    return filters.error(ConditionType.Accepted, Gateway.InvalidListenerFilter, why)


def listener_filter_not_resolved(found: Problem) -> Problem:
    """The authorization server of a listener filter cannot be resolved, for this reason."""
    is_permitted = found.reason is not Gateway.RefNotPermitted
    reason = Gateway.InvalidListenerFilterRef if is_permitted else Gateway.RefNotPermitted
    return replace(found, reason=reason, message=f"{found.message}, {_CLOSED}")


def listener_guard_is_foreign(holder: ObjectRef, name: str) -> Problem:
    why = f"guards nothing here, {_CLOSED}"
    return annotation(holder, name).error(ConditionType.Accepted, Gateway.UnsupportedValue, why)


def listener_is_closed(guard: Problem) -> Problem:
    """A listener that Envoy has, but on which nothing is routed."""
    return replace(guard, type=ConditionType.Programmed, reason=Gateway.Invalid)


def rule_guard_is_foreign(route: ObjectRef, name: str) -> Problem:
    why = "guards nothing here, and to leave it out would open what it guards"
    return rule_dropped(annotation(route, name), why)


def listener_may_be_guarded(holder: ObjectRef, policy: ObjectRef) -> Problem:
    at = Place(holder, "metadata.namespace")
    why = f"{_may_select(policy)}, {_CLOSED}"
    return at.error(ConditionType.Accepted, Gateway.Pending, why)


def rule_may_be_guarded(route: ObjectRef, policy: ObjectRef) -> Problem:
    why = f"{_may_select(policy)}, and to leave it out would open what it guards"
    return rule_dropped(Place(route, "metadata.namespace"), why)


def _may_select(policy: ObjectRef) -> str:
    return f"{policy} selects namespaces by labels, and those of this one are not known"


def stream_guard_not_served(route: Place, policy: ObjectRef) -> Problem:
    """A policy of a route for streams, where no policies are served."""
    why = f"every connection is closed, because {policy} is not served for streams"
    return route.warning(ConditionType.Accepted, Gateway.Accepted, why)


def unauthorized(route: Place, why: str) -> Problem:
    """The authorization service of the configuration cannot be asked, so every host is closed."""
    text = f"{why}; what it guards is answered with 503"
    return route.warning(ConditionType.Accepted, Gateway.Accepted, text)


def stops_a_listener(found: Problem) -> bool:
    """Whether a listener with this problem cannot be served at all, whatever else it has."""
    return found.severity == "error" and found.type in {
        ConditionType.Accepted,
        ConditionType.Conflicted,
    }


def closes_a_rule(found: Problem) -> bool:
    """Whether a rule with this problem answers an error, because its action cannot be served."""
    return found.type == DROPPED and found.severity == "error"


def lets_everybody_in(owner: Place) -> Problem:
    why = "clients get in whatever certificate they show, or none"
    field = owner.at("tls").at("frontend")
    return field.warning(
        ConditionType.InsecureFrontendValidationMode, Gateway.ConfigurationChanged, why
    )
