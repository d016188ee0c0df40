"""Programs that lack one step, each with the test that finds it wrong: what no upstream test checks
of v1.7 of the Gateway API.

`python -m tests.e2e.mutants [WORD…]` runs each test against its mutant and expects it to fail; what
the test starts is mutated, too, pods among it. `test_mutants` holds the table against the program's
text. More mutants of filters of listeners are in `tests/agreement/evaluation`; headers of gRPC
calls are proved in `tests/features/gateway`, where every field of a manifest is taken out.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from tests.testbed import patience

ROOT = Path(__file__).parents[2]
_HOOK = Path(__file__).with_name("mutating")
_SECONDS = 15.0
"""How long a test waits at least for what a mutant never does."""

_TRACES = "tests/e2e/test_telemetry.py"
_BUNDLES = "tests/e2e/test_trust_bundles.py"
_BACKENDS = "tests/e2e/test_xbackends.py"
_RETRIED = "tests/e2e/test_backendtraffic.py"
_TOLD = "tests/dag/gateway/test_backendtraffic.py"
_ADDRESSES = "tests/dag/gateway/test_addresses.py"
_REACHED = "tests/e2e/test_routability.py"
_BAD_INPUT = "tests/e2e/test_gateway_bad_input.py"


class Mutant(NamedTuple):
    """A text that stands once in a module, what replaces it, and the test that fails then."""

    module: str
    before: str
    after: str
    proof: str
    """As pytest names it, perhaps without its parameters."""

    @property
    def path(self) -> Path:
        """The file of the module."""
        return ROOT / f"{self.module.replace('.', '/')}.py"

    def __str__(self) -> str:
        return f"{self.module}: {self.before} -> {self.after or 'nothing'}"


Rows = dict[str, tuple[str, str]]
"""By the text: what replaces it, and the test."""

_TELEMETRY: Rows = {
    "claims = sorted(view.bucket(POLICIES, gateway))": (
        "claims = sorted(view.bucket(POLICIES, gateway), reverse=True)",
        "test_of_two_policies_the_older_holds",
    ),
    "is_default = not unknown and asked.mode == \"ImplementationDefault\"": (
        "is_default = not unknown",
        "test_tracing_that_is_disabled_is_so_whatever_the_configuration_says",
    ),
    "if found is not None and not found.is_default:": (
        "if found is not None:",
        "test_the_default_is_what_the_configuration_says",
    ),
    "yield problems.not_resolved(cluster)\n        return None": (
        "yield problems.not_resolved(cluster)\n        raise LookupError",
        "test_while_its_provider_is_missing_nobody_else_gets_the_spans",
    ),
    "asked.service_name or \"contour\"": (
        "\"contour\"",
        "test_spans_have_the_names_and_attributes_that_are_asked_for",
    ),
    "span_name=asked.span_name or \"\"": (
        "span_name=\"\"",
        "test_spans_have_the_names_and_attributes_that_are_asked_for",
    ),
    "headers=_headers(provider),": ("", "test_the_provider_gets_the_headers"),
    "if given is not None else (1, 1)": (
        "if False else (1, 1)",
        "test_a_rate_of_zero_traces_only_what_a_parent_wants",
    ),
    "follows_parent=parents is None or parents.mode != \"Disabled\"": (
        "follows_parent=True",
        "test_parents_that_do_not_count_decide_nothing",
    ),
    "if rate is not None and rate.numerator < rate.denominator:": (
        "if False:",
        "test_a_share_of_the_requests_of_sampled_parents_is_not_served",
    ),
    "if key is not None and key not in nodes.REQUEST_PROPERTIES:": (
        "if False and key is not None:",
        "test_an_attribute_that_is_not_known_is_left_out_and_told",
    ),
}  # fmt: skip
_SAMPLERS: Rows = {
    "if not node.follows_parent:": (
        "if True:",
        "test_the_decision_of_a_parent_holds_by_default",
    ),
    "numerator * _MILLION // denominator": (
        "_MILLION",
        "test_a_rate_is_a_share_of_the_requests",
    ),
    "percent_pb2.FractionalPercent.MILLION": (
        "percent_pb2.FractionalPercent.HUNDRED",
        "test_the_rate_is_for_all_where_parents_do_not_count",
    ),
    "headers.formatted(nodes.REQUEST_PROPERTIES[tag.request_property])": (
        "headers.formatted(nodes.REQUEST_PROPERTIES['url.path'])",
        "test_every_property_of_a_request_that_is_known_has_its_value",
    ),
    "result.request_header.name = tag.header": (
        "result.literal.value = tag.header",
        "test_spans_have_the_names_and_attributes_that_are_asked_for",
    ),
}
_PROPERTIES: Rows = {
    f"\"{key}\": Format((Operator({before})": (
        f"\"{key}\": Format((Operator({after})",
        "test_every_property_of_a_request_that_is_known_has_its_value",
    )
    for key, before, after in (
        ("client.port", '"DOWNSTREAM_REMOTE_PORT"', '"DOWNSTREAM_LOCAL_PORT"'),
        ("network.local.port", '"DOWNSTREAM_LOCAL_PORT"', '"DOWNSTREAM_REMOTE_PORT"'),
        ("server.port", '"DOWNSTREAM_LOCAL_PORT"', '"DOWNSTREAM_REMOTE_PORT"'),
        ("url.path", '"PATH", "NQ"', '"PATH"'),
    )
}  # fmt: skip
_TRUST: Rows = {
    "if why := authorities_refusal(written(view, ref, \"ca.crt\"), _entry(ref)):": (
        "if False and (why := \"\"):",
        "test_a_backend_gets_no_request_while_its_bundle_cannot_be_read",
    ),
    "\"\" if kind == CLUSTER_TRUST_BUNDLE else name.namespace": (
        "name.namespace",
        "test_a_client_gets_in_only_while_the_bundle_has_its_authority",
    ),
}  # fmt: skip
_POLICIES: Rows = {
    "trust=nodes.Trust(authorities) if authorities else None": (
        "trust=None",
        "test_a_backend_of_another_authority_gets_no_request",
    ),
}
_XBACKENDS: Rows = {
    "if not view.ask(settings.external_names, ()):": (
        "if False:",
        "test_it_is_closed_without_the_word_of_the_configuration",
    ),
    "if refusal := _refusal(host):": (
        "if False and (refusal := \"\"):",
        "test_what_cannot_be_served_gets_no_request",
    ),
    "if spec.protocol == \"MCP\":": ("if False:", "test_what_cannot_be_served_gets_no_request"),
    "if route == \"GRPCRoute\" or asked.protocol in _HTTP2:": (
        "if asked.protocol in _HTTP2:",
        "test_calls_reach_it_over_http_2",
    ),
    "if route == \"GRPCRoute\" and protocol in _HTTP1:": (
        "if False:",
        "test_calls_reach_it_over_http_2",
    ),
    "port = nodes.ServicePort(key, address.port, kind=KIND)": (
        "port, address = nodes.ServicePort(key, 80, kind=KIND), address.__class__(address.host, 9)",
        "test_requests_go_to_the_port_of_the_name_and_keep_their_host",
    ),
    "return Wanted(port, address, found.spec.protocol or \"\", tls.tls, told)": (
        "return Wanted(port, address, found.spec.protocol or \"\", None, told)",
        "test_tls_is_spoken_to_it_and_its_certificate_checked",
    ),
    "return _Terms(replace(validated.tls, client_certificate=certificate))": (
        "return _Terms(validated.tls)",
        "test_a_certificate_is_shown_to_it",
    ),
    "if validated.tls is None or isinstance(certificate, Problem):": (
        "if isinstance(certificate, Problem):\n        return _Terms()\n    if not validated.tls:",
        "test_a_certificate_is_shown_to_it",
    ),
}  # fmt: skip
_RETRIES: Rows = {
    "return min(claims).key if claims else None": (
        "return max(claims).key if claims else None",
        "test_a_policy_that_comes_and_goes_changes_what_backends_get",
    ),
    "float(asked.budget.percent),": ("100.0,", "test_a_budget_of_nothing_stops_retries"),
    "        _at_once(asked.min_retry_rate),": (
        "        1,",
        "test_the_least_rate_lets_requests_be_retried_without_a_budget",
    ),
    "own = f\"{backend.kind.lower()}-{backend.namespace}-{backend.name}\"": (
        "own = \"one\"",
        "test_a_client_stays_at_its_endpoint",
    ),
}  # fmt: skip
_BUDGETS: Rows = {
    "budget.MergeFromString(wire.field(_BUDGET_INTERVAL, interval))": (
        "wire.field(_BUDGET_INTERVAL, interval)",
        "test_requests_of_the_interval_count_although_they_are_answered",
    ),
    "budget.budget_percent.value = node.percent": (
        "pass",
        "test_a_budget_of_all_requests_lets_each_be_retried",
    ),
}  # fmt: skip
_SHARES: Rows = {
    "share.typed_per_filter_config[sessions.NAME].CopyFrom(kept)": (
        "pass",
        "test_each_share_keeps_its_own_session",
    ),
}  # fmt: skip
_KEPT: Rows = {
    "if rule.session_persistence is not None or cluster is None:": (
        "if cluster is None:",
        "test_the_session_of_a_rule_counts_instead",
    ),
}  # fmt: skip
_POLICED: Rows = {
    "if isinstance(found, Problem) or at.subject.kind not in _REQUEST_KINDS:": (
        "if isinstance(found, Problem):",
        "test_streams_have_neither",
    ),
    "return backendtraffic.bounded(view, found)": (
        "return found",
        "test_every_route_and_copy_to_the_service_has_it_and_no_other",
    ),
}  # fmt: skip
_OWNERS: Rows = {
    "if winner is None or winner == at.subject.key:": (
        "if True:",
        "test_the_younger_of_two_is_told_and_promoted",
    ),
    "if len(found_wrong) == len(wrong):": (
        "if found_wrong:",
        "test_a_policy_that_has_lost_one_of_its_backends_holds_for_the_others",
    ),
}  # fmt: skip
_JOINED: Rows = {
    "said[\"retry_budget\"] = cluster.retry_budget.joined(found.retry_budget)": (
        "pass",
        "test_two_budgets_are_both_kept",
    ),
}  # fmt: skip
_ROUTABILITY: Rows = {
    "if entry.routability not in {\"\", CLUSTER, SENTINEL}:": (
        "if False:",
        "test_an_address_is_reached_from_where_it_is_asked_to_be",
    ),
    "pool = left[entry.routability == CLUSTER]": (
        "pool = left[False]",
        "test_an_address_is_reached_from_where_it_is_asked_to_be",
    ),
    "each[:] = [it for it in each if it != taken]": (
        "pass",
        "test_an_address_is_reached_from_where_it_is_asked_to_be",
    ),
    "if not crdversions.has_routability(view):": (
        "if False:",
        "test_crds_without_the_field_get_neither_it_nor_the_condition",
    ),
    "return crdversions.has_routability(view) and _known(view, gateway) is not None": (
        "return _known(view, gateway) is not None",
        "test_crds_without_the_field_get_neither_it_nor_the_condition",
    ),
}  # fmt: skip
_AN_ADDRESS = "test_an_address_is_reached_from_where_it_is_asked_to_be"
_IN_A_CLUSTER = (
    (
        "dag.gateway.addresses",
        "pool = left[entry.routability == CLUSTER]",
        "pool = left[False]",
        _AN_ADDRESS,
    ),
    (
        "dag.gateway.addresses",
        "scope = entry.routability if entry.routability == SENTINEL else None",
        "scope = None",
        _AN_ADDRESS,
    ),
    (
        "contour.fleetstatus",
        "self._cluster_ips[fleet] = cluster_ips(entrance)",
        "self._cluster_ips[fleet] = ()",
        _AN_ADDRESS,
    ),
    (
        "contour.status.rendering",
        "for name, it in found._asdict().items() if it is not None}",
        "for name, it in found._asdict().items() if it}",
        _AN_ADDRESS,
    ),
    (
        "contour.status.merging",
        '"AddressesAssigned",',
        "",
        "test_the_crds_of_v1_6_have_neither_the_field_nor_the_condition",
    ),
)
_LISTENER_FILTERS: Rows = {
    "if listener.protocol not in {\"HTTP\", \"HTTPS\"}:": (
        "if False:",
        "test_filters_on_a_stream_close_it",
    ),
    "yield _resolved(view, it, at.at(\"filters\").at(\"requests\", index))": (
        "if not isinstance(found := _resolved(view, it, at), Problem):\n            yield found",
        "test_a_filter_that_cannot_be_served_closes_its_listener_alone",
    ),
}  # fmt: skip
_REFERENCES: Rows = {
    "if reference.port is not None:": (
        "if False:",
        "test_a_reference_to_an_xbackend_with_a_port_leads_nowhere_and_says_so",
    ),
}
_SESSIONS: Rows = {
    "        _is_written_in_one_way,": (
        "        bool,",
        "test_a_route_with_both_spellings_of_a_session_is_refused_and_the_last_good_one_serves",
    ),
}
_SCOPES: Rows = {
    "lambda it: it.routability in {\"\", \"Cluster\"} or _is_scope(it.routability),": (
        "bool,",
        "test_a_gateway_with_a_routability_of_kubernetes_is_refused_and_the_last_good_one_serves",
    ),
}  # fmt: skip


def _of(module: str, file: str, rows: Rows) -> tuple[Mutant, ...]:
    return tuple(
        Mutant(module, before, after, f"{file}::{name}") for before, (after, name) in rows.items()
    )


MUTANTS = (
    *_of("dag.gateway.telemetry", _TRACES, _TELEMETRY),
    *_of("contour.envoy.logs", _TRACES, _SAMPLERS),
    *_of("dag.nodes.tracing", _TRACES, _PROPERTIES),
    *_of("dag.references.trust", _BUNDLES, _TRUST),
    *_of("dag.gateway.policies", _BUNDLES, _POLICIES),
    *_of("dag.gateway.xbackends", _BACKENDS, _XBACKENDS),
    *_of("dag.gateway.backendtraffic", _RETRIED, _RETRIES),
    *_of("contour.envoy.resilience", _RETRIED, _BUDGETS),
    *_of("contour.envoy.forwarding", _RETRIED, _SHARES),
    *_of("dag.gateway.actions", _RETRIED, _KEPT),
    *_of("dag.gateway.backends", _TOLD, _POLICED),
    *_of("dag.gateway.backendtrafficstatus", _TOLD, _OWNERS),
    *_of("dag.gateway.envoypolicies.trafficupstreams", _TOLD, _JOINED),
    *_of("dag.gateway.addresses", _ADDRESSES, _ROUTABILITY),
    *(
        Mutant(module, before, after, f"{_REACHED}::{name}")
        for module, before, after, name in _IN_A_CLUSTER
    ),
    *_of("dag.gateway.listenerfilters", _BAD_INPUT, _LISTENER_FILTERS),
    *_of("dag.gateway.backends", _BAD_INPUT, _REFERENCES),
    *_of("crds.gateway.experimental", _BAD_INPUT, _SESSIONS),
    *_of("crds.gateway.gateway", _BAD_INPUT, _SCOPES),
)


def survives(mutant: Mutant, seconds: float = patience.PATIENCE) -> bool:
    """Whether its test finds nothing wrong; the test waits so long for each thing."""
    given = json.dumps((mutant.module, mutant.before, mutant.after))
    waited = {patience.VARIABLE: str(seconds)}
    added = {"MUTANT": given, "PYTHONPATH": str(_HOOK)} | waited
    command = (sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", mutant.proof)
    found = subprocess.run(
        command, cwd=ROOT, env=os.environ | added, capture_output=True, check=False
    )
    assert found.returncode in {0, 1}, found.stdout.decode()
    return found.returncode == 0


def seconds_of(mutant: Mutant) -> float | None:
    """How long its test takes with the program as it is; None if it fails."""
    start = monotonic()
    return monotonic() - start if survives(mutant._replace(after=mutant.before)) else None


def main() -> int:
    """Tells of each, first whether its test holds for the program itself: 1 if one is not found.

    For what a mutant never does, the test waits as long as the whole of it takes without a mutant,
    so a machine that is busy finds nothing by mistake.
    """
    words = sys.argv[1:] or [""]
    wanted = [it for it in MUTANTS if any(word in f"{it} {it.proof}" for word in words)]
    lasting = {proof: seconds_of(it) for proof, it in {it.proof: it for it in wanted}.items()}
    count = 0
    for it in wanted:
        seconds = lasting[it.proof]
        is_found = seconds is not None and not survives(it, max(_SECONDS, seconds))
        count += not is_found
        told = "found" if is_found else "NO PROOF" if seconds is None else "SURVIVES"
        print(told, it, flush=True)
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
