"""When certificates expire: those that are served, by Secret, and our own.

Only the `MOST_SECRETS` Secrets that expire first are exposed, since alarms are about those. A
certificate is parsed once; after a start with thousands of them, the first page does not include
all.
"""

import logging
from collections.abc import Iterator, Mapping
from heapq import nsmallest
from pathlib import Path

from cryptography import x509
from prometheus_client.core import GaugeMetricFamily, Metric

from crds.meta import NamespacedName
from dag import nodes
from dag.engine.incremental import Engine
from dag.references import secrets

log = logging.getLogger(__name__)

MOST_SECRETS = 500
MOST_PARSED = 1000  # for one page; 25 µs each


class Certificates:
    """The expiry times of all certificates."""

    def __init__(self, engine: Engine, own: Mapping[str, Path]) -> None:
        """`own` are the files with certificates of the process itself, by name."""
        self._engine = engine
        self._own = own
        self._ends: dict[NamespacedName, tuple[bytes, float]] = {}

    def __call__(self) -> Iterator[Metric]:
        self._parse()
        yield _ends(
            "contour_certificate_expiry_timestamp_seconds",
            "Unix time at which the certificate of a served Secret expires; the 500 soonest.",
            ("namespace", "name"),
            {key: end for key, (_, end) in self._soonest()},
        )
        yield _ends(
            "contour_own_certificate_expiry_timestamp_seconds",
            "Unix time at which a certificate of this process expires.",
            ("use",),
            {(use,): end for use, path in self._own.items() if (end := _end_of(path)) is not None},
        )

    def _parse(self) -> None:
        served = dict(self._engine.answers(secrets.secret))
        self._ends = {key: it for key, it in self._ends.items() if key in served}
        fresh = [
            (key, found)
            for key, found in served.items()
            if found is not None and self._ends.get(key, (b"", 0))[0] is not found.chain
        ]
        for key, found in fresh[:MOST_PARSED]:
            self._ends[key] = found.chain, _end(found)

    def _soonest(self) -> list[tuple[NamespacedName, tuple[bytes, float]]]:
        return nsmallest(MOST_SECRETS, self._ends.items(), key=lambda it: (it[1][1], it[0]))


def _end(found: nodes.Secret) -> float:
    return x509.load_pem_x509_certificate(found.chain).not_valid_after_utc.timestamp()


def _end_of(path: Path) -> float | None:
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        log.warning("cannot read the expiry of certificate %s: %s", path, error)
        return None
    return found.not_valid_after_utc.timestamp()


def _ends(
    name: str, told: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], float]
) -> Metric:
    found = GaugeMetricFamily(name, told, labels=labels)
    for it, end in values.items():
        found.add_metric(it, end)
    return found
