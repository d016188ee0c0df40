"""Policies that are merged, against their documents, merged by themselves (RFC 7396)."""

import dataclasses
import re
from collections.abc import Mapping
from random import Random
from typing import Any, get_origin, get_type_hints

import pytest
import yaml

from crds import shape
from crds.decode import Decoded, decode
from crds.envoygateway.backendtrafficpolicy import BackendTrafficPolicySpec
from crds.envoygateway.securitypolicy import SecurityPolicySpec
from dag import hosts, nodes, tables
from dag.engine.incremental import Engine
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway.envoypolicies import securitycredentials, securitylogin, securitytokens
from tests.agreement import securitypolicies, trafficpolicies, worlds
from tests.dag.gateway.manifests import configuration, service
from tests.dag.world import world

FILLED_IN: Mapping[str, Any] = {
    "extAuth.grpc.backendRef.group": "",
    "extAuth.grpc.backendRef.kind": "Service",
    "extAuth.http.backendRef.group": "",
    "extAuth.http.backendRef.kind": "Service",
    "extAuth.failOpen": False,
    "basicAuth.users.group": "",
    "basicAuth.users.kind": "Secret",
    "oidc.provider.backendSettings.retry.numRetries": 2,
    "oidc.clientIDRef.group": "",
    "oidc.clientIDRef.kind": "Secret",
    "oidc.clientSecret.group": "",
    "oidc.clientSecret.kind": "Secret",
    "oidc.refreshToken": True,
    "csrf.shadowFraction.denominator": 100,
    "retry.numRetries": 2,
    "loadBalancer.consistentHash.tableSize": 65537,
    "circuitBreaker.maxConnections": 1024,
    "circuitBreaker.maxPendingRequests": 1024,
    "circuitBreaker.maxParallelRequests": 1024,
    "circuitBreaker.maxParallelRetries": 1024,
    "circuitBreaker.perEndpoint.maxConnections": 1024,
    "circuitBreaker.retryBudget.percent.denominator": 100,
    "healthCheck.active.timeout": "1s",
    "healthCheck.active.interval": "3s",
    "healthCheck.active.unhealthyThreshold": 3,
    "healthCheck.active.healthyThreshold": 1,
    "healthCheck.passive.splitExternalLocalOriginErrors": False,
    "healthCheck.passive.interval": "3s",
    "healthCheck.passive.consecutiveLocalOriginFailures": 5,
    "healthCheck.passive.consecutive5XxErrors": 5,
    "healthCheck.passive.baseEjectionTime": "30s",
    "healthCheck.passive.maxEjectionPercent": 10,
    "healthCheck.passive.alwaysEjectOneEndpoint": False,
    "faultInjection.delay.percentage": 100.0,
    "faultInjection.abort.percentage": 100.0,
}
"""What the API server fills in outside of lists, by the CRDs of Envoy Gateway 1.9."""
WITHOUT_EFFECT = frozenset({"extAuth.recomputeRoute", "extAuth.includeRouteMetadata"})


def test_only_what_the_api_server_fills_in_has_a_default() -> None:
    """A field with another default would seem to be said by a policy that does not say it."""
    found = {
        path: default
        for model in (SecurityPolicySpec, BackendTrafficPolicySpec)
        for path, default in _defaults(model)
        if path not in WITHOUT_EFFECT
    }
    assert found == FILLED_IN


def _defaults(model: type, at: str = "") -> list[tuple[str, Any]]:
    """The fields outside of lists that a model has with a value if nobody says one."""
    found: list[tuple[str, Any]] = []
    hints = get_type_hints(model)
    for name, field in shape.fields(model).items():
        is_list = get_origin(hints[field.name]) is tuple
        if field.default is not dataclasses.MISSING and field.default not in (None, ()):
            found.append((f"{at}{name}", field.default))
        if field.model is not None and not is_list:
            found.extend(_defaults(field.model, f"{at}{name}."))
    return found


def _filled(document: dict[str, Any], at: str = "") -> dict[str, Any]:
    """A document as the API server stores it, outside of lists."""
    result = dict(document)
    for path, value in FILLED_IN.items():
        before, _, name = path.rpartition(".")
        if before == at:
            result.setdefault(name, value)
    for name, value in document.items():
        if isinstance(value, dict):
            result[name] = _filled(value, f"{at}.{name}" if at else name)
    return result


def _saying(document: Any) -> Any:
    """A document without its empty lists: Envoy Gateway writes none."""
    if not isinstance(document, dict):
        return document
    return {name: _saying(value) for name, value in document.items() if value != []}


def _merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merge_patch(result.get(name), value)
    return result


_MEMBERS = {
    "binary", "consistentHash", "cookie", "grpc", "header", "headers", "http", "queryParams", "tcp",
    "text",
}  # fmt: skip
"""Fields that are each for one type of the object that holds them."""


def _of_its_types(document: Any) -> Any:
    """A document without the fields of other types than the one that an object names."""
    if not isinstance(document, dict):
        return document
    named = document.get("type", "").lower()
    others = {it for it in _MEMBERS if named and it.lower() != named}
    return {name: _of_its_types(it) for name, it in document.items() if name not in others}


PAIRS = 255
MAKERS = {"SecurityPolicy": securitypolicies.FIELDS, "BackendTrafficPolicy": trafficpolicies.FIELDS}


@pytest.mark.parametrize("kind", MAKERS)
def test_two_policies_mean_what_one_means_that_says_the_merged_document(kind: str) -> None:
    """The oracle: the documents are merged by themselves, and stand in one policy."""
    chance, fields = Random(f"merging {kind}"), MAKERS[kind]
    closed = 0
    made = worlds.policies(kind, lambda _: {}, chance, 1)
    documents = [*securitypolicies.secrets(), *made]
    given = yaml.safe_dump_all(it for it in documents if it["kind"] != kind)
    given += service("s1") + service("s2") + configuration("enableExternalNameService: true")
    pair, single = _world(given), _world(given)
    for number in range(PAIRS):
        own, theirs = (
            {name: value for make in chance.sample(list(fields.values()), 3)
             for name, value in make(chance).items()}
            for _ in range(2)
        )  # fmt: skip
        document = _merge_patch(_filled(theirs), _saying(_filled(own)))
        for name in {"loadBalancer", "healthCheck"} & document.keys():
            document[name] = _of_its_types(document[name])
        if "authorization" in own and "defaultAction" not in own["authorization"]:
            document["authorization"].pop("defaultAction", None)
        _write(pair, kind, "own", ("HTTPRoute", "r0"), {"mergeType": "JSONMerge", **own})
        _write(pair, kind, "gw", ("Gateway", "gw"), theirs)
        _write(single, kind, "own", ("HTTPRoute", "r0"), document)
        pair.settle()
        single.settle()
        assert not pair.failures
        assert _seen(pair) == _seen(single), f"{number}: {own} {theirs}"
        closed += "Forward(" not in _seen(pair)
    assert closed < PAIRS * 0.5


def _world(given: str) -> Engine:
    """A world in which every key set and discovery document that is asked for is there."""
    made = world(given)
    made.write(tables.ACCEPTANCE_ASSUMED, (), True)
    return made


def _write(
    engine: Engine, kind: str, name: str, target: tuple[str, str], spec: dict[str, Any]
) -> None:
    reference = {"group": "gateway.networking.k8s.io", "kind": target[0], "name": target[1]}
    made = {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"targetRefs": [reference], **spec},
    }
    found = decode(made)
    assert isinstance(found, Decoded)
    engine.write(tables.BY_KIND[kind], found.key, found.object)


def _seen(engine: Engine) -> str:
    """The routes, who may pass and who signs tokens, without which policy says so; the names and
    the key of the cookies of a login tell which one it is."""
    found = engine.answer(
        hosts.virtual_host, nodes.HostKey(DEFAULT_FLEET, "ingress_http", "r0.test")
    )
    assert found is not None
    routes = [dataclasses.replace(it, attached=()) for it in found.routes]
    seen = repr(routes)
    for it in routes:
        if it.policies is not None and isinstance(it.policies.authentication, nodes.Authentication):
            source = it.policies.authentication.source.key
            reading = engine.answer(securitycredentials.reading, source)
            assert isinstance(reading, securitycredentials.Reading)
            known = reading.known
            assert isinstance(known, nodes.Known)
            seen += repr((known.keys and known.keys.keys, known.passwords))
        if it.policies is not None and isinstance(it.policies.jwt, nodes.Jwt):
            assert it.policies.jwt.source is not None
            signers = engine.answer(securitytokens.providers, it.policies.jwt.source.key)
            assert isinstance(signers, tuple)
            seen += repr([dataclasses.replace(it, name="") for it in signers])
        if it.policies is not None and isinstance(it.policies.login, nodes.Login):
            login = engine.answer(securitylogin.reading, it.policies.login.source.key)
            assert isinstance(login, securitylogin.Reading)
            assert isinstance(login.known, nodes.LoginSecrets)
            seen += repr(login.known.client)
    seen = re.sub(r"='([A-Za-z]+)-[0-9a-f]{8}'", r"='\1'", seen)
    seen = re.sub(r"SecurityPolicy/default/(own\+default/gw|gw|own)", "SecurityPolicy/own", seen)
    return re.sub(r"name='(own\+default/gw|gw|own)'", "name='own'", seen)
