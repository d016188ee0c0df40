"""When certificates end: of Secrets that are served, and the process's own."""

from pathlib import Path

import pytest
from cryptography import x509

from contour.controller import Controller
from contour.metrics import certificates
from contour.metrics.certificates import Certificates
from tests.contour.metrics import scraped
from tests.contour.test_controller import SERVICE, Published, events, proxy
from tests.testbed import certificates as authorities
from tests.testbed import pairs

NAME = "contour_certificate_expiry_timestamp_seconds"


def end(number: int = 0) -> float:
    return end_of(pairs.pair(number)[0])


def end_of(chain: bytes) -> float:
    return x509.load_pem_x509_certificate(chain).not_valid_after_utc.timestamp()


def host(name: str) -> str:
    return proxy(name, f"{name}.test", tls=f", tls: {{secretName: {name}}}")


def test_secrets_that_are_served_and_no_others_are_told() -> None:
    controller = Controller(Published())
    read = Certificates(controller.engine, {})
    controller.take(events(SERVICE + host("used") + pairs.secret("used") + pairs.secret("idle")))
    assert scraped.values(read, NAME) == {("used", "default"): end()}
    controller.take(events(host("used"), gone=True))
    assert scraped.values(read, NAME) == {}


def test_the_lifetime_of_a_certificate_is_told() -> None:
    controller = Controller(Published())
    chain, key = pairs.pair(days=6)
    controller.take(events(SERVICE + host("used") + pairs.with_pair("used", chain, key)))
    read = Certificates(controller.engine, {})
    lifetimes = scraped.values(read, "contour_certificate_lifetime_seconds")
    assert lifetimes == {("used", "default"): 6 * 86400}


def test_a_renewal_is_told() -> None:
    controller = Controller(Published())
    read = Certificates(controller.engine, {})
    controller.take(events(SERVICE + host("used") + pairs.secret("used")))
    assert scraped.values(read, NAME)
    chain, key = later()
    controller.take(events(pairs.with_pair("used", chain, key)))
    (found,) = scraped.values(read, NAME).values()
    assert found == x509.load_pem_x509_certificate(chain).not_valid_after_utc.timestamp() != end()


def later() -> tuple[bytes, bytes]:
    pair = authorities.authority()
    return pair.pem, pair.key_pem


def test_of_many_secrets_the_soonest_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "MOST_SECRETS", 2)
    controller = Controller(Published())
    text = "".join(host(it) + pairs.secret(it) for it in "cab")
    controller.take(events(SERVICE + text))
    found = scraped.values(Certificates(controller.engine, {}), NAME)
    assert set(found) == {("a", "default"), ("b", "default")}


def test_certificates_that_have_expired_hide_none_that_will(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(certificates, "MOST_SECRETS", 1)
    controller = Controller(Published())
    lives = {name: pairs.pair(days=days) for days, name in enumerate("abcd", 1)}
    text = "".join(host(name) + pairs.with_pair(name, *it) for name, it in lives.items())
    controller.take(events(SERVICE + text))
    now = sum(end_of(chain) for chain, _ in lives.values()) / len(lives)
    found = scraped.values(Certificates(controller.engine, {}, lambda: now), NAME)
    assert set(found) == {("b", "default"), ("c", "default")}


def test_a_page_parses_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "MOST_PARSED", 1)
    controller = Controller(Published())
    text = "".join(host(it) + pairs.secret(it) for it in "ab")
    controller.take(events(SERVICE + text))
    read = Certificates(controller.engine, {})
    assert [len(next(iter(read())).samples) for _ in range(3)] == [1, 2, 2]


def test_our_own_certificates_are_told_and_missing_ones_are_not(tmp_path: Path) -> None:
    chain, _ = pairs.pair()
    (tmp_path / "tls.crt").write_bytes(chain)
    own = {"xds": tmp_path / "tls.crt", "none": tmp_path / "none"}
    read = Certificates(Controller(Published()).engine, own)
    name = "contour_own_certificate_expiry_timestamp_seconds"
    assert scraped.values(read, name) == {("xds",): end()}
