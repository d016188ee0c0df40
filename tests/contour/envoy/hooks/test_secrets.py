"""What extensions see of Secrets, what is put back, and what an answer must not make of them."""

from collections.abc import Mapping

import pytest
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from google.protobuf import json_format

from contour.envoy.hooks import secrets
from tests.contour.hooks.questions import encoded

CERTIFICATE = {
    "certificate_chain": {"inline_string": "CHAIN"},
    "private_key": {"inline_string": "PRIVATE"},
    "password": {"inline_string": "PRIVATE"},
}
AUTHORITIES = {"validation_context": {"trusted_ca": {"inline_string": "CA"}}}
SECRETS: Mapping[str, Mapping[str, object]] = {
    "certificate": {"tls_certificate": CERTIFICATE},
    "pkcs12": {"tls_certificate": {"pkcs12": {"inline_string": "PRIVATE"}}},
    "tickets": {"session_ticket_keys": {"keys": [{"inline_string": "PRIVATE"}]}},
    "generic": {"generic_secret": {"secret": {"inline_string": "PRIVATE"}}},
    "pairs": {"generic_secret": {"secrets": {"a": {"inline_string": "PRIVATE"}}}},
    "validation": AUTHORITIES,
}


def secret(content: Mapping[str, object], name: str = "ours") -> bytes:
    return encoded(json_format.ParseDict({"name": name, **content}, secret_pb2.Secret()))


@pytest.mark.parametrize("kind", SECRETS)
def test_nothing_private_is_sent_and_all_of_it_is_put_back(kind: str) -> None:
    ours = secret(SECRETS[kind])
    sent = secrets.without_private_parts(ours)
    assert b"PRIVATE" not in sent
    assert secret_pb2.Secret.FromString(sent).name == "ours"
    assert secrets.with_private_parts(sent, ours) == ours


def certificate(**content: object) -> bytes:
    return secret({"tls_certificate": content})


@pytest.mark.parametrize(
    ("replied", "expected"),
    [
        (certificate(certificate_chain={"inline_string": "OTHER"}), None),
        (secret(AUTHORITIES), None),
        (certificate(certificate_chain={"inline_string": "CHAIN"},
                     ocsp_staple={"inline_string": "O"}),
         certificate(**CERTIFICATE, ocsp_staple={"inline_string": "O"})),
    ],
    ids=["other certificate", "other kind", "more"],
)  # fmt: skip
def test_a_key_is_put_back_for_its_certificate_alone(
    replied: bytes, expected: bytes | None
) -> None:
    ours = secret(SECRETS["certificate"])
    assert secrets.with_private_parts(replied, ours) == (expected or replied)


PAIR = {
    "certificate_chain": {"inline_string": "OTHER"}, "private_key": {"inline_string": "THEIRS"},
}  # fmt: skip
FILE = {"filename": "/etc/envoy/key.pem"}
HELD = {"a/b": secret(SECRETS["certificate"], "a/b"), "trust/c": secret(AUTHORITIES, "trust/c")}


def taken(name: str, **content: object) -> secrets.Taken:
    return secrets.taken([secret_pb2.Secret.FromString(secret(content, name))], HELD)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("new", {"tls_certificate": PAIR}),
        ("a/b", {"tls_certificate": PAIR}),
        ("new", AUTHORITIES),
        ("new", {"validation_context": {"trusted_ca": {"filename": "/etc/ssl/ca.crt"}}}),
        ("trust/c", {"validation_context": {"trusted_ca": {"inline_string": "OTHER"}}}),
    ],
)
def test_secrets_of_an_answer_are_served(name: str, content: Mapping[str, object]) -> None:
    assert taken(name, **content) == ({name: secret(content, name)}, ())


ACCEPTING = {
    "trusted_ca": {"inline_string": "CA"}, "trust_chain_verification": "ACCEPT_UNTRUSTED",
}  # fmt: skip
LARGE = {"trusted_ca": {"inline_string": "x" * (secrets.MOST_BYTES + 1)}}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("x/y", {"tls_certificate": PAIR}, "whose name is one of Contour's own"),
        ("metrics-tls-certificate", {"tls_certificate": PAIR}, "is one of Contour's own"),
        ("system-trust", {"validation_context": ACCEPTING}, "is one of Contour's own"),
        ("new", {}, "without its private parts"),
        ("new", {"tls_certificate": {"certificate_chain": {"inline_string": "C"}}}, "without its"),
        ("new", {"session_ticket_keys": {}}, "without its private parts"),
        ("new", {"generic_secret": {}}, "without its private parts"),
        ("new", {"validation_context": LARGE}, "bytes, of which 1048576 are allowed"),
        ("new", {"generic_secret": {"secret": FILE}}, "files or variables of Envoy's machine"),
        ("new", {"tls_certificate": PAIR | {"private_key": {"environment_variable": "K"}}},
         "files or variables"),
        ("a/b", {"tls_certificate": {"certificate_chain": {"inline_string": "OTHER"}}},
         "without its private parts"),
        ("trust/c", {"validation_context": {}}, "so that certificates are not verified"),
        ("trust/c", {"validation_context": ACCEPTING}, "so that certificates are not verified"),
        ("trust/c", {"tls_certificate": PAIR}, "into one of another type"),
    ],
)  # fmt: skip
def test_others_are_refused_and_ours_are_not_served_unchanged(
    name: str, content: Mapping[str, object], why: str
) -> None:
    found, refused = taken(name, **content)
    assert found == ({name: None} if name in HELD else {})
    assert len(refused) == 1
    assert why in refused[0][1]


def test_an_answer_adds_so_many_secrets_and_no_more() -> None:
    content = {"tls_certificate": PAIR}
    every = [
        secret_pb2.Secret.FromString(secret(content, f"s{it}"))
        for it in range(secrets.MOST_ADDED + 2)
    ]
    found = secrets.taken(every, HELD)
    assert len(found.secrets) == secrets.MOST_ADDED
    assert [name for name, _ in found.refused] == ["s1000", "s1001"]
