"""The admission policy for instances: their authors must have the rights that the instance gets.

That includes whoever chooses what runs in the pods of an instance, or controls its Envoys, which
get private keys; also of one that the operator does not make, or no longer does.

An instance reads Secrets; whoever makes one and gets a token of its ServiceAccount can read them,
too. So a ValidatingAdmissionPolicy (Kubernetes, "Validating Admission Policy", v1 since 1.30) asks
the API server's authorizer about the author of a ContourConfiguration with `spec.contour`, when it
is created and when its rights grow. A change that asks for no further rights passes: finalizers,
labels, other settings, fewer namespaces. Where an API server has no such policies, the operator
reports the same (`contour_operator.trust`).
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from crds.raw import Raw

NAME = "contour-operator"
"""The name of the policy and of its binding, which all operators of a cluster share."""

MOST_NAMED = 11
"""The most namespaces that are checked one by one; for more, the author needs the rights in all
namespaces. A policy can ask the authorizer 28 times: each call costs 350,000 of a budget of
10,000,000."""


class Demand(NamedTuple):
    """A right that an instance gets, so that its author has to have it."""

    path: str
    """The field that asks for it."""
    gets: str
    """What the instance may do by it."""
    right: str
    """What the author must be allowed to do."""

    @property
    def words(self) -> str:
        """The message for the author, without a remedy."""
        return f"{self.path}: {self.gets}, so its author has to be allowed to {self.right}"


_WATCHED = "spec.contour.watchNamespaces"
SECRETS = Demand(
    _WATCHED,
    "without it the instance reads the Secrets of all namespaces",
    "list Secrets in all namespaces",
)
GATEWAYS = Demand(
    _WATCHED,
    "without it the instance may patch the Gateways of all namespaces",
    "patch Gateways in all namespaces",
)
FLEETS = Demand(
    "spec.gateway.mode",
    "with PerGateway the instance creates Deployments in all namespaces that it watches",
    "create Deployments in all namespaces",
)
CLASSES = Demand(
    "spec.envoy.networkPublishing.gateway.controllerName",
    "the instance creates a GatewayClass for it",
    "create GatewayClasses",
)
SIDECARS = Demand(
    "spec.extensions",
    "the operator runs the containers of its sidecars",
    "create Pods in the namespace",
)
IMAGES = Demand(
    "spec.rateLimitFilters.service.image",
    "the instance runs it in pods",
    "create Pods in the namespace",
)
_KEYS_OF_ALL = "the private keys of all namespaces"


def _of_control(path: str, gets: str) -> Demand:
    return Demand(path, gets, "list Secrets in all namespaces")


KEYS = _of_control(
    "spec.extensions",
    f"an extension says what Envoys do, which get {_KEYS_OF_ALL}",
)
BOOTSTRAP = _of_control(
    "spec.envoy.bootstrap",
    f"it says what Envoys do, which get {_KEYS_OF_ALL}",
)
SHOWN = _of_control(
    "spec.envoy.clientCertificate",
    "Envoys show the certificate of any Secret to Services",
)
PATCHES = _of_control(
    "spec.gateway.envoyPatchPolicies",
    f"patches say what Envoys do, which get {_KEYS_OF_ALL}",
)
PARAMETERS = _of_control(
    "spec.gateway.parametersNamespaces",
    f"objects there say what runs as Envoy, which gets {_KEYS_OF_ALL}",
)
MANY = Demand(
    _WATCHED,
    f"more than {MOST_NAMED} namespaces are added at once",
    "list Secrets (with mode PerGateway: and create Deployments) in all namespaces",
)


def of_namespace(name: str) -> Demand:
    """The right in a named namespace."""
    return Demand(
        _WATCHED,
        f"the instance reads the Secrets of namespace {name}",
        "list Secrets (with mode PerGateway: and create Deployments) there",
    )


_WAY_OUT = "; name only namespaces where you may, or let an administrator apply it"


def policy() -> Raw:
    """The CEL expressions of the policy's `spec`, for the template."""
    return {
        "conditions": [{"name": name, "expression": it} for name, it in _CONDITIONS.items()],
        "variables": [{"name": name, "expression": it} for name, it in _VARIABLES.items()],
        "validations": list(_validations()),
    }


_IMAGE = "?rateLimitFilters.?service.?image"

_CONTROLS = {
    "?envoy.?bootstrap": BOOTSTRAP,
    "?envoy.?clientCertificate": SHOWN,
    "?gateway.?envoyPatchPolicies": PATCHES,
    "?gateway.?parametersNamespaces": PARAMETERS,
}
"""The fields that give control of Envoys, beside `extensions`, each with its demand."""

_ASKING = ("?contour", _IMAGE, "?extensions", *_CONTROLS)

_CONDITIONS = {
    "asks-for-rights": " || ".join(f"object.spec.{it}.hasValue()" for it in _ASKING),
    "has-changed": "oldObject == null || !has(oldObject.spec) || oldObject.spec != object.spec",
}


def _check(group: str, resource: str, verb: str, namespace: str = "") -> str:
    where = f".namespace({namespace})" if namespace else ""
    return f"authorizer.group('{group}').resource('{resource}'){where}.check('{verb}').allowed()"


_GATEWAY_API = "gateway.networking.k8s.io"
_OUTER = "spec.?envoy.?networkPublishing.?gateway"


def _new_of(demand: Demand) -> str:
    """The name of a variable."""
    name = demand.path.rpartition(".")[2]
    return f"new{name[0].upper()}{name[1:]}"


def _is_new(field: str) -> str:
    """Whether a field is set, and was not, or to something else."""
    now = f"object.spec.{field}"
    return f"{now}.hasValue() && !variables.before.exists(b, b.{field} == {now})"


# By variable: whether something new gives control of Envoys.
_NEW = {"newExtensions": KEYS} | {_new_of(it): it for it in _CONTROLS.values()}

# Variables are evaluated lazily, once. Each may refer to those before it alone.
_VARIABLES = {
    "asks": "has(object.spec.contour)",
    "had": "oldObject != null && has(oldObject.spec) && has(oldObject.spec.contour)",
    "listed": "object.spec.?contour.?watchNamespaces.orValue([])",
    "hadListed": "variables.had ? oldObject.spec.contour.?watchNamespaces.orValue([]) : []",
    "wide": "variables.asks && size(variables.listed) == 0",
    "wasWide": "variables.had && size(variables.hadListed) == 0",
    "perGateway": "object.spec.?gateway.?mode.orValue('') == 'PerGateway'",
    "newMode": "variables.perGateway && !(variables.had"
    " && oldObject.spec.?gateway.?mode.orValue('') == 'PerGateway')",
    # What held before, also without `contour`; nothing, if the instance is new.
    "before": "oldObject != null && has(oldObject.spec) && (variables.had || !variables.asks)"
    " ? [oldObject.spec] : []",
    "newExtensions": "object.spec.?extensions.orValue([]).exists(e,"
    " !variables.before.exists(b, b.?extensions.orValue([]).exists(o, o == e)))",
    **{_new_of(it): _is_new(field) for field, it in _CONTROLS.items()},
    "controls": " || ".join(f"variables.{it}" for it in _NEW),
    # An instance reads its own namespace, too.
    "named": "[request.namespace] + variables.listed.filter(n, n != request.namespace)",
    "wasNamed": "variables.had ? [request.namespace] + variables.hadListed : []",
    "asked": "!variables.asks || variables.wide ? []"
    " : variables.newMode || variables.controls ? variables.named"
    " : variables.wasWide ? [] : variables.named.filter(n, !(n in variables.wasNamed))",
    "reads": _check("", "secrets", "list"),
    "creates": _check("apps", "deployments", "create"),
    "pods": _check("", "pods", "create", "request.namespace"),
    "everywhere": "variables.reads && (!variables.perGateway || variables.creates)",
    "outer": f"variables.asks ? object.{_OUTER}.?controllerName.orValue('') : ''",
    "sidecars": "variables.asks"
    " ? object.spec.?extensions.orValue([]).filter(e, has(e.sidecar)) : []",
    "hadSidecars": "variables.had"
    " ? oldObject.spec.?extensions.orValue([]).filter(e, has(e.sidecar)) : []",
    "newSidecars": "variables.sidecars.filter(e,"
    " !variables.hadSidecars.exists(o, o.sidecar == e.sidecar))",
    "sameOuter": f"variables.had && oldObject.{_OUTER} == object.{_OUTER}",
    "image": f"object.spec.{_IMAGE}.orValue('')",
    "sameImage": "oldObject != null && (variables.had || !variables.asks)"
    f" && oldObject.?spec.{_IMAGE}.orValue('') == variables.image",
}


def _validations() -> Iterator[dict[str, str]]:
    is_no_wider = "!variables.wide || variables.wasWide"
    yield _validation(f"{is_no_wider} || variables.reads", SECRETS)
    gateways = _check(_GATEWAY_API, "gateways", "patch")
    yield _validation(f"{is_no_wider} || {gateways}", GATEWAYS)
    no_fleets = "!variables.wide || !variables.perGateway"
    had_them = "variables.wasWide && !variables.newMode"
    yield _validation(f"{no_fleets} || ({had_them}) || variables.creates", FLEETS)
    no_class = "variables.outer == '' || variables.sameOuter"
    classes = _check(_GATEWAY_API, "gatewayclasses", "create")
    yield _validation(f"{no_class} || {classes}", CLASSES)
    yield _validation("size(variables.newSidecars) == 0 || variables.pods", SIDECARS)
    yield _validation("variables.image == '' || variables.sameImage || variables.pods", IMAGES)
    # What an instance reads that the operator does not make is not known here.
    is_narrow = "variables.asks && !variables.wide"
    for name, demand in _NEW.items():
        yield _validation(f"!variables.{name} || ({is_narrow}) || variables.reads", demand)
    few = f"size(variables.asked) <= {MOST_NAMED} || variables.everywhere"
    yield _validation(few, MANY)
    for index in range(MOST_NAMED):
        yield _of_one(index)


def _of_one(index: int) -> dict[str, str]:
    name = f"variables.asked[{index}]"
    reads = _check("", "secrets", "list", name)
    creates = _check("apps", "deployments", "create", name)
    found = (
        f"size(variables.asked) <= {index} || variables.everywhere"
        f" || ({reads} && (!variables.perGateway || {creates}))"
    )
    before, after = of_namespace("\0").words.split("\0")
    message = f"{json.dumps(before)} + {name} + {json.dumps(after + _WAY_OUT)}"
    return {"expression": found, "messageExpression": message, "reason": "Forbidden"}


def _validation(expression: str, demand: Demand) -> dict[str, str]:
    found = {"expression": expression, "message": demand.words + _WAY_OUT}
    return found | {"reason": "Forbidden"}
