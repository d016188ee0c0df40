"""Whether a bootstrap keeps the statistics that are read while Envoy starts and while it ends.

A matcher is asked about names such as Envoy's gauges have. What cannot be evaluated here, such as
the matcher of an extension, counts as leaving them out.
"""

from collections.abc import Callable, Iterator

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.metrics.v3 import stats_pb2
from envoy.type.matcher.v3 import string_pb2

from dag.rawconfig.content import Remark
from dag.values import regexes

_PATH = "stats_config.stats_matcher"

READ = {
    "listener_manager.workers_started": ("listener_manager.workers_started",),
    "http.*.downstream_rq_active": (
        "http.admin.downstream_rq_active",
        "http.http-8080.downstream_rq_active",
        "http.ingress_https.downstream_rq_active",
    ),
    "http.*.downstream_cx_active": (
        "http.admin.downstream_cx_active",
        "http.http-8080.downstream_cx_active",
        "http.ingress_https.downstream_cx_active",
    ),
    "listener.*.downstream_cx_active": (
        "listener.admin.downstream_cx_active",
        "listener.0.0.0.0_8080.downstream_cx_active",
        "listener.[__]_8443.downstream_cx_active",
    ),
}
"""What `contour.host.administration` reads, each with examples."""


def lost(found: bootstrap_pb2.Bootstrap) -> Iterator[Remark]:
    """What is read and not kept."""
    is_kept = _kept(found.stats_config.stats_matcher)
    names = [name for name, examples in READ.items() if not all(map(is_kept, examples))]
    if names:
        text = f"must keep {', '.join(names)}: readiness and draining are read from them"
        yield Remark(_PATH, text)


def _kept(matcher: stats_pb2.StatsMatcher) -> Callable[[str], bool]:
    match matcher.WhichOneof("stats_matcher"):
        case "reject_all":
            return lambda _: not matcher.reject_all
        case "inclusion_list":
            included = matcher.inclusion_list.patterns
            return lambda name: any(_matches(it, name) is True for it in included)
        case "exclusion_list":
            excluded = matcher.exclusion_list.patterns
            return lambda name: all(_matches(it, name) is False for it in excluded)
        case _:
            return lambda _: True


def _matches(pattern: string_pb2.StringMatcher, name: str) -> bool | None:
    """None if only Envoy knows."""
    kind = pattern.WhichOneof("match_pattern")
    if kind == "safe_regex":
        regex = pattern.safe_regex.regex
        return None if regexes.refusal(regex) else regexes.matches(regex, name)
    if kind is None or kind == "custom":
        return None
    wanted: str = getattr(pattern, kind)
    if pattern.ignore_case:
        wanted, name = wanted.lower(), name.lower()
    return {
        "exact": name == wanted,
        "prefix": name.startswith(wanted),
        "suffix": name.endswith(wanted),
        "contains": wanted in name,
    }[kind]
