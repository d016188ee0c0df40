"""How much of what can be written Envoy has seen: fields, and pairs of features."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.agreement import features
from tests.dag.httpproxy import generated

ELSEWHERE = {
    "HTTPProxy": frozenset(
        {
            "spec.ingressClassName",
            "spec.includes.conditions.exact",  # an error
            "spec.includes.conditions.regex",  # likewise
        }
    ),
    "ContourConfiguration": frozenset(
        {
            "spec.contour",
            "spec.debug",
            "spec.envoy.listener.routing",
            "spec.envoy.managed",
            "spec.envoy.metrics.tls",  # tests/e2e/test_monitoring.py
            "spec.envoy.networkPublishing",
            "spec.envoy.workload",
            "spec.featureFlags",
            "spec.health",
            "spec.httpproxy.rootNamespaces",
            "spec.ingress.classNames",
            "spec.metrics",
            "spec.xdsServer",
        }
    ),
}
"""Fields that Envoy never hears of: they say who is looked at, or what others than Envoy do."""


@dataclass
class Coverage:
    """Counted over the objects that the rules accept."""

    objects: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """Objects in which the rules found an error."""
    fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: Counter[features.Pair] = field(default_factory=Counter)

    def count(self, document: dict[str, Any], *, is_accepted: bool) -> None:
        """An object that was served, or not."""
        kind = document["kind"]
        if not is_accepted:
            self.refused[kind] += 1
            return
        self.objects[kind] += 1
        self.fields.update((kind, it) for it in set(generated.set_fields(document["spec"])))
        if kind == "HTTPProxy":
            self.pairs.update(set(features.pairs(document["spec"])))

    def missing_pairs(self) -> list[features.Pair]:
        """Pairs that no accepted object has on a route."""
        return sorted(features.PAIRS - self.pairs.keys())

    def missing_fields(self, kind: str) -> list[str]:
        """Fields that no accepted object sets."""
        missing = generated.fields(kind) - {it for of, it in self.fields if of == kind}
        return sorted(it for it in missing if not _is_below(it, ELSEWHERE[kind]))

    def table(self) -> Iterator[str]:
        """What is to be told of it."""
        for kind in sorted(self.objects):
            total = len([it for it in generated.fields(kind) if not _is_below(it, ELSEWHERE[kind])])
            missing = self.missing_fields(kind)
            yield f"{kind}: {self.objects[kind]} served, {self.refused[kind]} with errors"
            yield f"  fields set: {total - len(missing)} of {total}{_list(missing)}"
        pairs = self.missing_pairs()
        if self.pairs:
            yield f"pairs of features on a route: {len(features.PAIRS) - len(pairs)} of " + (
                f"{len(features.PAIRS)}{_list(f'{one} + {other}' for one, other in pairs)}"
            )
            yield f"  met by fewest objects: {min(self.pairs.values())}"


def _list(missing: Iterable[str]) -> str:
    found = ", ".join(missing)
    return f"; not: {found}" if found else ""


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(path == it or path.startswith(f"{it}.") for it in places)
