"""Certificates: a renewal costs one secret, whoever refers to it; an RSA key is checked fast."""

import math
from itertools import count
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from crds.decode import Decoded, decode
from crds.secret import Secret
from dag import nodes
from dag.problems import Problem
from dag.references import secrets
from tests.dag import world
from tests.dag.test_hosts import SERVICES, proxy
from tests.testbed import pairs


def test_a_renewal_runs_no_rule_of_the_hosts_that_use_it() -> None:
    def work(hosts: int) -> tuple[int, int]:
        texts = [
            proxy("/", f"h{it}.example.com", ", tls: {secretName: cert}").replace(
                "name: app", f"name: app-{it}", 1
            )
            for it in range(hosts)
        ]
        engine = world.world(SERVICES + "".join(texts) + pairs.secret("cert"))
        before = engine.work.runs
        world.apply(engine, pairs.with_pair("cert", *pairs.pair(1)))
        return engine.work.runs - before, len(world.secure(engine, "h0.example.com"))

    few, many = work(2), work(40)
    assert few == many
    assert few[1] == 1


_E = 65537


def numbers(bits: int) -> dict[str, int]:
    """The numbers of an RSA key that fit together, but for that p and q are no primes."""
    odd = ((3 << (bits // 2 - 2)) + 2 * it + 1 for it in count(1))
    fit = (it for it in odd if math.gcd(_E, it - 1) == 1)
    p, q = next(fit), next(fit)
    while math.gcd(p, q) != 1:
        q = next(fit)
    d = pow(_E, -1, math.lcm(p - 1, q - 1))
    return {"p": p, "q": q, "d": d, "dmp1": d % (p - 1), "dmq1": d % (q - 1), "iqmp": pow(q, -1, p)}


def judged(found: dict[str, int], n: int) -> nodes.Secret | Problem:
    """What becomes of a Secret with a key of these numbers, and a certificate for it."""
    public = rsa.RSAPublicNumbers(_E, n)
    key = rsa.RSAPrivateNumbers(**found, public_numbers=public).private_key(
        unsafe_skip_rsa_key_validation=True
    )
    template = x509.load_pem_x509_certificate(pairs.pair()[0])
    signer: Any = serialization.load_pem_private_key(pairs.pair()[1], None)
    chain = (
        x509.CertificateBuilder(template.issuer, template.subject, public.public_key(), 1)
        .not_valid_before(template.not_valid_before_utc)
        .not_valid_after(template.not_valid_after_utc)
        .sign(signer, hashes.SHA256())
    ).public_bytes(serialization.Encoding.PEM)
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    text = key.private_bytes(pem, pkcs8, serialization.NoEncryption())
    manifest = decode(yaml.safe_load(pairs.with_pair("cert", chain, text)))
    assert isinstance(manifest, Decoded)
    assert isinstance(manifest.object, Secret)
    return secrets.checked(manifest.object)


@pytest.mark.parametrize("bits", [2048, 16384])
def test_the_primes_of_an_rsa_key_are_not_tested_as_envoy_does_not(bits: int) -> None:
    found = numbers(bits)
    assert isinstance(judged(found, found["p"] * found["q"]), nodes.Secret)


@pytest.mark.parametrize("name", ["d", "dmp1", "dmq1", "iqmp"])
def test_numbers_of_an_rsa_key_that_do_not_fit_together_are_told(name: str) -> None:
    found = numbers(2048)
    told = judged(found | {name: found[name] + 2}, found["p"] * found["q"])
    assert isinstance(told, Problem)
    assert "whose numbers do not fit together" in told.message


@pytest.mark.parametrize(("bits", "why"), [(2040, "fewer than 2048"), (16400, "more than 16384")])
def test_the_size_of_an_rsa_key_is_bounded_as_by_envoy(bits: int, why: str) -> None:
    found = numbers(bits)
    told = judged(found, found["p"] * found["q"])
    assert isinstance(told, Problem)
    assert f"has an RSA key of {bits} bits, {why}" in told.message
