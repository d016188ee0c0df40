"""External authorization of a SecurityPolicy: the server that decides, and what it receives.

A server that cannot be found closes the routes of the policy.
"""

from collections.abc import Iterator

from crds.envoygateway import policyservers as crd
from crds.gateway.references import BackendObjectReference
from crds.records import replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import backends, guards
from dag.problems import Problem, Refused
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.values import durations, headers

TIMEOUT = 10.0
"""Seconds in which the server has to answer, if the policy does not say."""


def authorization(view: View, written: crd.ExternalAuthorization, at: Place) -> nodes.Authorization:
    """The server of a policy; Refused if it cannot be asked as the policy wants."""
    name, asked = ("grpc", written.grpc) if written.grpc is not None else ("http", written.http)
    assert asked is not None, "the model demands one of the two"
    cluster = _cluster(view, asked, at.at(name))
    timeout = durations.seconds(written.timeout) if written.timeout is not None else TIMEOUT
    body = written.body_to_ext_auth
    made = nodes.Authorization(
        cluster,
        timeout=timeout,
        fail_open=written.fail_open,
        body=nodes.AuthorizationBody(body.max_request_bytes) if body is not None else None,
        context=tuple(sorted(_context(written, at))),
        request_headers=_names(written.headers_to_ext_auth),
    )
    if not isinstance(asked, crd.HTTPServer):
        protocol: nodes.UpstreamProtocol = "h2c" if cluster.tls is None else "h2"
        return replace(made, cluster=replace(cluster, protocol=protocol))
    if asked.path and (why := guards.prefix_refusal(asked.path)):
        raise Refused(complaints.policy_closes(at.at(name).at("path"), why))
    for index, it in enumerate(asked.headers_to_backend):
        if why := headers.request_refusal(it):
            place = at.at(name).at("headersToBackend", index)
            raise Refused(complaints.policy_closes(place, f"{it[:60]!r} {why}"))
    return replace(
        made,
        protocol="http",
        path_prefix=asked.path or "",
        upstream_headers=_names(asked.headers_to_backend),
    )


def references(written: crd.ExternalAuthorization | None) -> tuple[BackendObjectReference, ...]:
    """The servers that a policy names."""
    asked = (written.grpc or written.http) if written is not None else None
    if asked is None:
        return ()
    first = (asked.backend_ref,) if asked.backend_ref is not None else ()
    return (*first, *asked.backend_refs)


def _cluster(view: View, asked: crd.GRPCServer, at: Place) -> nodes.Cluster:
    if asked.backend_ref is not None and asked.backend_refs:
        text = "backendRef and backendRefs cannot both be set"
        raise Refused(complaints.policy_closes(at, text))
    if len(asked.backend_refs) > 1:
        text = "only one server is served"
        raise Refused(complaints.policy_closes(at.at("backendRefs"), text))
    place = at.at("backendRef") if asked.backend_ref is not None else at.at("backendRefs", 0)
    reference = asked.backend_ref or next(iter(asked.backend_refs))
    found = backends.cluster(view, reference, place)
    if isinstance(found, Problem):
        why = found.message.removeprefix(f"{place.path}: ")
        raise Refused(complaints.policy_closes(place, why))
    return found


def _context(written: crd.ExternalAuthorization, at: Place) -> Iterator[tuple[str, str]]:
    for index, it in enumerate(written.context_extensions):
        place = at.at("contextExtensions", index)
        if written.grpc is None:
            text = "is only told to servers that speak gRPC"
            raise Refused(complaints.policy_closes(place, text))
        if written.headers_to_ext_auth:
            text = "cannot be sent together with headersToExtAuth"
            raise Refused(complaints.policy_closes(place, text))
        if it.type != "Value" or it.value is None or it.value_ref is not None:
            text = "needs value, with the type Value; others are not served"
            raise Refused(complaints.policy_closes(place, text))
        yield it.name, it.value


def _names(written: tuple[str, ...]) -> tuple[nodes.ValueMatch, ...]:
    return tuple(nodes.ValueMatch("exact", it.lower(), ignore_case=True) for it in written)
