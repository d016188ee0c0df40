"""The addresses of the pages: `health`, `metrics` and `debug` of a ContourConfiguration.

The defaults are Contour's: health and metrics share 0.0.0.0:8000, debugging is on 127.0.0.1:6060.
With another address, debugging shows the configuration to everybody who can connect. Metrics over
TLS need a port of their own; without one, health keeps the port and metrics are not served (and
never in plaintext), which is reported.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from crds import endpoints
from crds.contourconfiguration import ContourConfigurationSpec

Purpose = Literal["health", "metrics", "debug"]


_ANYWHERE = frozenset({"0.0.0.0", "::"})


@dataclass(frozen=True, slots=True)
class Files:
    """PEM files of a server, and the authority of its clients if they need a certificate."""

    certificate: Path
    key: Path
    authority: Path | None = None


class ListenAddress(NamedTuple):
    """A socket to listen on."""

    address: str
    port: int
    tls: Files | None = None

    def overlaps(self, other: "ListenAddress") -> bool:
        """Whether two different sockets cannot be open at the same time."""
        addresses = {self.address, other.address}
        return self.port == other.port and (len(addresses) == 1 or bool(addresses & _ANYWHERE))

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"


USUAL: Mapping[Purpose, ListenAddress] = {
    "health": ListenAddress("0.0.0.0", 8000),
    "metrics": ListenAddress("0.0.0.0", 8000),
    "debug": ListenAddress("127.0.0.1", 6060),
}


class Sites(NamedTuple):
    """The purposes of every socket, and the errors by field."""

    purposes: Mapping[ListenAddress, frozenset[Purpose]]
    problems: tuple[str, ...] = ()


def sites(spec: ContourConfigurationSpec, usual: Mapping[Purpose, ListenAddress] = USUAL) -> Sites:
    """The sites of a configuration; `usual` has the defaults."""
    found: defaultdict[ListenAddress, set[Purpose]] = defaultdict(set)
    problems: list[str] = []
    for purpose, site in _wanted(spec, usual):
        if isinstance(site, str):
            problems.append(site)
        elif (other := _clash(site, found)) is not None:
            problems.append(
                f"spec.{purpose}: port {site.port} is already used by {_named(found[other])}"
            )
        else:
            found[site].add(purpose)
    return Sites({site: frozenset(it) for site, it in found.items()}, tuple(problems))


def _wanted(
    spec: ContourConfigurationSpec, usual: Mapping[Purpose, ListenAddress]
) -> Iterator[tuple[Purpose, ListenAddress | str]]:
    """The wanted addresses, health first: an address that conflicts with it is not served."""
    yield "health", _site(spec.health, usual["health"])
    metrics = _site(spec.metrics, usual["metrics"])
    tls = spec.metrics.tls if spec.metrics else None
    files = _files(tls) if tls else metrics.tls
    yield "metrics", files if isinstance(files, str) else metrics._replace(tls=files)
    yield "debug", _site(spec.debug, usual["debug"])


def _site(
    given: endpoints.Endpoint | endpoints.DebugEndpoint | endpoints.MetricsEndpoint | None,
    usual: ListenAddress,
) -> ListenAddress:
    if given is None:
        return usual
    return usual._replace(address=given.address or usual.address, port=given.port or usual.port)


def _files(tls: endpoints.MetricsTLS) -> Files | str:
    if not (tls.cert_file and tls.key_file):
        return "spec.metrics.tls: certFile and keyFile are required for TLS"
    return Files(
        Path(tls.cert_file), Path(tls.key_file), Path(tls.ca_file) if tls.ca_file else None
    )


def _clash(
    site: ListenAddress, found: Mapping[ListenAddress, set[Purpose]]
) -> ListenAddress | None:
    return next((it for it in found if it != site and it.overlaps(site)), None)


def _named(purposes: set[Purpose]) -> str:
    return " and ".join(sorted(purposes))
