"""When certificates expire: those that are served, by Secret, and our own.

Only the `MOST_SECRETS` Secrets that expire first are exposed, since alarms are about those. A
certificate is parsed once; after a start with thousands of them, the first page does not include
all.
"""

import logging
from collections.abc import Iterator, Mapping
from heapq import nsmallest
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from prometheus_client.core import GaugeMetricFamily, Metric

from crds.meta import NamespacedName
from dag import nodes
from dag.engine.incremental import Engine
from dag.references import secrets

log = logging.getLogger(__name__)

MOST_SECRETS = 500
MOST_PARSED = 1000  # for one page; 25 µs each


class _Parsed(NamedTuple):
    chain: bytes
    end: float
    """Seconds since 1970."""
    lifetime: float
    """Seconds."""


class Certificates:
    """The expiry times of all certificates."""

    def __init__(self, engine: Engine, own: Mapping[str, Path]) -> None:
        """`own` are the files with certificates of the process itself, by name."""
        self._engine = engine
        self._own = own
        self._parsed: dict[NamespacedName, _Parsed] = {}

    def __call__(self) -> Iterator[Metric]:
        self._parse()
        soonest = self._soonest()
        yield _by(
            "contour_certificate_expiry_timestamp_seconds",
            "Unix time at which the certificate of a served Secret expires; the 500 soonest.",
            ("namespace", "name"),
            {key: it.end for key, it in soonest},
        )
        yield _by(
            "contour_certificate_lifetime_seconds",
            "Seconds from the beginning to the end of these certificates' validity.",
            ("namespace", "name"),
            {key: it.lifetime for key, it in soonest},
        )
        yield _by(
            "contour_own_certificate_expiry_timestamp_seconds",
            "Unix time at which a certificate of this process expires.",
            ("use",),
            {(use,): end for use, path in self._own.items() if (end := _end_of(path)) is not None},
        )

    def _parse(self) -> None:
        served = dict(self._engine.answers(secrets.secret))
        self._parsed = {key: it for key, it in self._parsed.items() if key in served}
        fresh = [
            (key, found)
            for key, found in served.items()
            if found is not None and not self._is_parsed(key, found)
        ]
        for key, found in fresh[:MOST_PARSED]:
            self._parsed[key] = _parsed(found)

    def _is_parsed(self, key: NamespacedName, found: nodes.Secret) -> bool:
        known = self._parsed.get(key)
        return known is not None and known.chain is found.chain

    def _soonest(self) -> list[tuple[NamespacedName, _Parsed]]:
        return nsmallest(MOST_SECRETS, self._parsed.items(), key=lambda it: (it[1].end, it[0]))


def _parsed(found: nodes.Secret) -> _Parsed:
    leaf = x509.load_pem_x509_certificate(found.chain)
    lifetime = leaf.not_valid_after_utc - leaf.not_valid_before_utc
    return _Parsed(found.chain, leaf.not_valid_after_utc.timestamp(), lifetime.total_seconds())


def _end_of(path: Path) -> float | None:
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        log.warning("cannot read the expiry of certificate %s: %s", path, error)
        return None
    return found.not_valid_after_utc.timestamp()


def _by(
    name: str, told: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], float]
) -> Metric:
    found = GaugeMetricFamily(name, told, labels=labels)
    for it, value in values.items():
        found.add_metric(it, value)
    return found
