"""What of a Secret stays: what has a known name, and what may be a set of keys."""

from base64 import b64decode, b64encode

import pytest

from contour.kubernetes import entries
from crds.raw import Raw
from dag.references import jwks


def encoded(text: str | bytes) -> str:
    return b64encode(text.encode() if isinstance(text, str) else text).decode()


@pytest.mark.parametrize("name", ["tls.crt", "tls.key", "ca.crt", "crl.pem"])
def test_what_has_a_known_name_stays(name: str) -> None:
    assert entries.of_secret({name: encoded("-----BEGIN")}) == {name: encoded("-----BEGIN")}


@pytest.mark.parametrize(
    "text",
    ['{"keys":[]}', "[]", " \n\t{", " " * 100 + "{", b"\xef\xbb\xbf{}", '{"keys":[' + "1," * 99],
)
def test_what_may_be_a_key_set_stays(text: str | bytes) -> None:
    assert entries.of_secret({"jwks": encoded(text)}) == {"jwks": encoded(text)}


@pytest.mark.parametrize("text", ["password", "<xml/>", b"\x00\x01", "-----BEGIN PRIVATE KEY-----"])
def test_of_anything_else_the_name_stays(text: str | bytes) -> None:
    assert entries.of_secret({"x": encoded(text)}) == {"x": ""}


@pytest.mark.parametrize(
    "text", ["password", "", "[]", "[1]", "{}", '{"keys":7}', '{"keys":[]}', "{"]
)
def test_what_the_rules_say_of_a_key_set_stays(text: str) -> None:
    kept = b64decode(str(entries.of_secret({"jwks": encoded(text)})["jwks"]))
    assert jwks.refusal(kept) == jwks.refusal(text.encode())


@pytest.mark.parametrize("value", [7, None, "no base64!", {"a": 1}])
def test_what_is_no_entry_is_left_to_be_complained_about(value: object) -> None:
    assert entries.of_secret({"x": value}) == {"x": value}


def test_of_config_maps_authorities_and_key_sets_stay() -> None:
    kept: Raw = {"ca.crt": "a", "jwks": "b", "jwks.json": "c"}
    assert entries.of_config_map({**kept, "game.properties": "d"}) == kept
