"""Addresses, hosts and names in a ContourConfiguration that nothing can have.

A value stays as it is written: with a default in its place, a process might listen where it was not
meant to. Elsewhere: objects that could exist and do not (`defaults`); ports that several listeners
want (`monitoring`).
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from crds import fields
from crds.contourconfiguration import ContourConfigurationSpec
from crds.envoysettings import Envoy
from crds.gateway.gatewayclass import CONTROLLER_NAME
from dag.problems import Problem
from dag.problems import configuration as problems
from dag.problems.places import Place
from dag.values import hostnames


class _Value(NamedTuple):
    place: Place
    text: str | None
    refusal: Callable[[str], str | None]
    """Why a text cannot be such a value, as the end of a sentence."""


def problems_of(at: Place, spec: ContourConfigurationSpec) -> Iterator[Problem]:
    """The values that cannot work, each with its path."""
    for it in _values(at, spec):
        if it.text and (why := it.refusal(it.text)):
            yield problems.invalid_value(it.place, f"{it.text[:60]!r} {why}")


def _values(at: Place, spec: ContourConfigurationSpec) -> Iterator[_Value]:
    for name, own in (("debug", spec.debug), ("health", spec.health), ("metrics", spec.metrics)):
        if own is not None:
            yield _Value(at.at(name).at("address"), own.address, hostnames.target_refusal)
    yield from _of_envoy(at.at("envoy"), spec.envoy or Envoy())
    if spec.ingress is not None:
        place = at.at("ingress").at("statusAddress")
        for address in (spec.ingress.status_address or "").split(","):
            yield _Value(place, address.strip(), _status_refusal)
    if spec.gateway is not None:
        place = at.at("gateway").at("controllerName")
        yield _Value(place, spec.gateway.controller_name, controller_refusal)
    for index, name in enumerate(spec.httpproxy.root_namespaces if spec.httpproxy else ()):
        yield _Value(at.at("httpproxy").at("rootNamespaces", index), name, _name_refusal)
    if spec.rate_limit_filters is not None and spec.rate_limit_filters.redis is not None:
        place = at.at("rateLimitFilters").at("redis").at("address")
        yield _Value(place, spec.rate_limit_filters.redis.address, _port_refusal)
    for index, it in enumerate(spec.extensions):
        place = at.at("extensions", index).at("service").at("host")
        yield _Value(place, it.service.host, hostnames.target_refusal)


def _of_envoy(at: Place, envoy: Envoy) -> Iterator[_Value]:
    for name, it in (
        ("http", envoy.http),
        ("https", envoy.https),
        ("health", envoy.health),
        ("omEnforcedHealth", envoy.om_enforced_health),
        ("metrics", envoy.metrics),
    ):
        if it is not None:
            yield _Value(at.at(name).at("address"), it.address, hostnames.address_refusal)
    if envoy.service is not None:
        yield _Value(at.at("service").at("namespace"), envoy.service.namespace, _name_refusal)
        yield _Value(at.at("service").at("name"), envoy.service.name, _name_refusal)


def _status_refusal(text: str) -> str | None:
    """A status has IP addresses and names of hosts (Kubernetes, `LoadBalancerIngress`)."""
    if not hostnames.address_refusal(text):
        return None
    is_host = not hostnames.is_wildcard(text) and hostnames.refusal(text) is None
    return None if is_host else "is no IP address and no DNS name in lower case"


def controller_refusal(text: str) -> str | None:
    """Why GatewayClasses cannot name this controller (Gateway API, "GatewayController"), as the
    end of a sentence; None if they can."""
    is_one = len(text) <= 253 and re.fullmatch(CONTROLLER_NAME, text)
    return None if is_one else "is no name of a controller, such as example.com/gateways"


def _name_refusal(text: str) -> str | None:
    is_one = len(text) <= 63 and re.fullmatch(fields.LABEL, text)
    return None if is_one else f"is no name: {fields.IN_WORDS[fields.LABEL]}, at most 63 characters"


def _port_refusal(text: str) -> str | None:
    is_one = 0 < int(text.rpartition(":")[2]) < 65536
    return None if is_one else "has no port from 1 to 65535"
