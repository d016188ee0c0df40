"""What servers see of Secrets, and what is put back."""

from collections.abc import Mapping

import pytest
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from google.protobuf import json_format

from contour.hooks import secrets
from tests.contour.hooks.questions import encoded

CERTIFICATE = {
    "certificate_chain": {"inline_string": "CHAIN"},
    "private_key": {"inline_string": "PRIVATE"},
    "password": {"inline_string": "PRIVATE"},
}
SECRETS: Mapping[str, Mapping[str, object]] = {
    "certificate": {"tls_certificate": CERTIFICATE},
    "pkcs12": {"tls_certificate": {"pkcs12": {"inline_string": "PRIVATE"}}},
    "tickets": {"session_ticket_keys": {"keys": [{"inline_string": "PRIVATE"}]}},
    "generic": {"generic_secret": {"secret": {"inline_string": "PRIVATE"}}},
    "pairs": {"generic_secret": {"secrets": {"a": {"inline_string": "PRIVATE"}}}},
    "validation": {"validation_context": {"trusted_ca": {"inline_string": "CA"}}},
}


def secret(content: Mapping[str, object], name: str = "ours") -> bytes:
    return encoded(json_format.ParseDict({"name": name, **content}, secret_pb2.Secret()))


@pytest.mark.parametrize("kind", SECRETS)
def test_nothing_private_is_sent_and_all_of_it_is_put_back(kind: str) -> None:
    ours = secret(SECRETS[kind])
    sent = secrets.without_private_parts(ours)
    assert b"PRIVATE" not in sent
    assert secret_pb2.Secret.FromString(sent).name == "ours"
    assert secrets.with_private_parts(sent, {"ours": ours}) == ours


def changed(**content: object) -> bytes:
    return secret({"tls_certificate": content})


@pytest.mark.parametrize(
    ("replied", "expected"),
    [
        (changed(certificate_chain={"inline_string": "OTHER"}), None),
        (secret({"tls_certificate": CERTIFICATE}, "new"), None),
        (secret(SECRETS["validation"]), None),
        (changed(certificate_chain={"inline_string": "CHAIN"}, ocsp_staple={"inline_string": "O"}),
         changed(**CERTIFICATE, ocsp_staple={"inline_string": "O"})),
    ],
    ids=["other certificate", "new", "other kind", "more"],
)  # fmt: skip
def test_a_key_is_put_back_for_its_certificate_alone(
    replied: bytes, expected: bytes | None
) -> None:
    held = {"ours": secret(SECRETS["certificate"])}
    assert secrets.with_private_parts(replied, held) == (expected or replied)
