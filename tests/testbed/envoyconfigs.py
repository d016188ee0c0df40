"""EnvoyConfigs for tests to edit, and changes of them that Envoy refuses."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import yaml

Document = dict[str, Any]


class Written:
    """An EnvoyConfig with one listener, one route, one cluster and its endpoints."""

    def __init__(self, text: str) -> None:
        self.document: Document = yaml.load(text, yaml.CSafeLoader)

    def resource(self, type_: str) -> Document:
        """The value of the resource of a type."""
        found: Document = next(
            it for it in self.document["spec"]["resources"] if it["type"] == type_
        )
        value: Document = found.get("value", found)
        return value

    def version(self, text: str) -> None:
        """Makes the configuration say that it is another version."""
        (host,) = self.resource("route")["virtual_hosts"]
        host["response_headers_to_add"] = [{"header": {"key": "x-version", "value": text}}]

    def change_everything(self, text: str) -> None:
        """Changes each resource in a way that Envoy accepts."""
        self.version(text)
        self.resource("cluster")["alt_stat_name"] = text
        self.resource("listener")["traffic_direction"] = "INBOUND"


def _unknown_cluster(of: Written) -> None:
    inline = {"name": "inline", "virtual_hosts": deepcopy(of.resource("route")["virtual_hosts"])}
    (chain,) = of.resource("listener")["filter_chains"]
    config = chain["filters"][0]["typed_config"]
    del config["rds"]
    inline["virtual_hosts"][0]["routes"][0]["route"]["cluster"] = "nobody"
    config["route_config"] = inline | {"validate_clusters": True}


def _two_catch_alls(of: Written) -> None:
    hosts = of.resource("route")["virtual_hosts"]
    hosts.append(deepcopy(hosts[0]) | {"name": "again"})


def _no_source_of_endpoints(of: Written) -> None:
    del of.resource("cluster")["eds_cluster_config"]


def _no_address(of: Written) -> None:
    address = {"socket_address": {"address": "no address", "port_value": 80}}
    entry = next(it for it in of.document["spec"]["resources"] if it["type"] == "endpoint")
    entry.clear()
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": address}}]}]
    entry |= {"type": "endpoint", "value": {"cluster_name": "one", "endpoints": endpoints}}


def _same_match_twice(of: Written) -> None:
    chains = of.resource("listener")["filter_chains"]
    chains.append(deepcopy(chains[0]) | {"name": "again"})


def _no_chains(of: Written) -> None:
    del of.resource("listener")["filter_chains"]


def _bad_certificate(of: Written) -> None:
    pair = {it: {"inline_string": "no PEM"} for it in ("certificate_chain", "private_key")}
    (chain,) = of.resource("listener")["filter_chains"]
    chain["transport_socket"] = {
        "name": "tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3"
            ".DownstreamTlsContext",
            "common_tls_context": {"tls_certificates": [pair]},
        },
    }


def _cannot_bind(of: Written) -> None:
    of.resource("listener")["address"]["socket_address"]["address"] = ELSEWHERE


ELSEWHERE = "192.0.2.1"
"""An address that no machine of a test has."""
CANNOT_BIND = "an address of another machine"

REFUSED: dict[str, tuple[Callable[[Written], None], str]] = {
    "listener with an unknown cluster": (_unknown_cluster, "unknown cluster"),
    "two catch-all hosts": (_two_catch_alls, "Only a single wildcard domain"),
    "EDS without a source": (_no_source_of_endpoints, "without an EDS config"),
    "an address that is none": (_no_address, "malformed IP address"),
    "a certificate that is none": (_bad_certificate, "Failed to load certificate"),
    "one match of two chains": (_same_match_twice, "same matching rules"),
    "a listener without chains": (_no_chains, "no filter chains"),
    CANNOT_BIND: (_cannot_bind, "cannot bind"),
}
"""By name: the change, and a part of Envoy's error message."""

LOSING = {("an address that is none", True)}
"""Names of changes, and whether everything is changed, for which requests fail: Envoy uses a
changed cluster whose endpoints it refuses without any endpoints (503)."""
