"""When certificates expire: those that are served, by Secret, and our own.

Alarms are about certificates that expire soon or have just expired. So of each only `MOST_SECRETS`
Secrets are exposed: those that expire next, and those that expired last, which cannot crowd out the
others. A certificate is parsed once; after a start with thousands of them, the first page does not
include all.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from heapq import nlargest, nsmallest
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

    def __init__(
        self, engine: Engine, own: Mapping[str, Path], now: Callable[[], float] = time.time
    ) -> None:
        """`own` are the files with certificates of the process itself, by name."""
        self._engine = engine
        self._own = own
        self._now = now
        self._parsed: dict[NamespacedName, _Parsed] = {}

    def __call__(self) -> Iterator[Metric]:
        self._parse()
        shown = self._shown()
        yield _by(
            "contour_certificate_expiry_timestamp_seconds",
            "Unix time at which the certificate of a served Secret expires; the next and last 500.",
            ("namespace", "name"),
            {key: it.end for key, it in shown},
        )
        yield _by(
            "contour_certificate_lifetime_seconds",
            "Seconds from the beginning to the end of these certificates' validity.",
            ("namespace", "name"),
            {key: it.lifetime for key, it in shown},
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

    def _shown(self) -> list[tuple[NamespacedName, _Parsed]]:
        now, every = self._now(), self._parsed.items()
        coming = (it for it in every if it[1].end > now)
        ended = (it for it in every if it[1].end <= now)
        return [*nsmallest(MOST_SECRETS, coming, _order), *nlargest(MOST_SECRETS, ended, _order)]


def _order(of: tuple[NamespacedName, _Parsed]) -> tuple[float, NamespacedName]:
    key, found = of
    return found.end, key


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
