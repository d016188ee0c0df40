"""Programs that lack one step, each with the test that finds it wrong: what no upstream test checks
of v1.7 of the Gateway API.

`python -m tests.e2e.mutants [WORD…]` runs each test against its mutant and expects it to fail; what
the test starts is mutated, too. `test_mutants` holds the table against the program's text. Filters
of listeners have mutants in `tests/agreement/evaluation`, headers of gRPC calls in
`tests/features/gateway`, where every field of a manifest is taken out.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.testbed import patience

ROOT = Path(__file__).parents[2]
_HOOK = Path(__file__).with_name("mutating")
_SECONDS = "15"
"""How long a test waits for what a mutant never does."""

_TRACES = "tests/e2e/test_telemetry.py"
_BUNDLES = "tests/e2e/test_trust_bundles.py"
_BACKENDS = "tests/e2e/test_xbackends.py"
_ADDRESSES = "tests/dag/gateway/test_addresses.py"


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
    *_of("dag.gateway.addresses", _ADDRESSES, _ROUTABILITY),
)


def survives(mutant: Mutant) -> bool:
    """Whether its test finds nothing wrong."""
    given = json.dumps((mutant.module, mutant.before, mutant.after))
    added = {"MUTANT": given, "PYTHONPATH": str(_HOOK), patience.VARIABLE: _SECONDS}
    command = (sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", mutant.proof)
    found = subprocess.run(
        command, cwd=ROOT, env=os.environ | added, capture_output=True, check=False
    )
    assert found.returncode in {0, 1}, found.stdout.decode()
    return found.returncode == 0


def main() -> int:
    """Tells of each, first whether its test holds for the program itself: 1 if one is not found."""
    words = sys.argv[1:] or [""]
    wanted = [it for it in MUTANTS if any(word in f"{it} {it.proof}" for word in words)]
    whole = {it.proof: it._replace(after=it.before) for it in wanted}
    failing = {proof for proof, it in whole.items() if not survives(it)}
    count = 0
    for it in wanted:
        is_found = it.proof not in failing and not survives(it)
        count += not is_found
        told = "found" if is_found else "NO PROOF" if it.proof in failing else "SURVIVES"
        print(told, it, flush=True)
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
