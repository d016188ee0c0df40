"""Which key sets are read. What Envoy takes is tested in `tests/agreement/test_keysets.py`."""

import json

import pytest

from dag.references import jwks
from tests.testbed import keysets


@pytest.mark.parametrize("name", keysets.TAKEN)
def test_a_set_that_envoy_takes_is_read(name: str) -> None:
    content = keysets.TAKEN[name].encode()
    assert jwks.refusal(content) is None
    assert len(json.loads(jwks.readable(content))["keys"]) == len(json.loads(content)["keys"])


@pytest.mark.parametrize("name", [*keysets.REFUSED, *keysets.STRICTER])
def test_a_set_that_envoy_refuses_is_not_read(name: str) -> None:
    content = (keysets.REFUSED | keysets.STRICTER)[name].encode()
    assert jwks.refusal(content)
    with pytest.raises(jwks.UnusableError):
        jwks.readable(content)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (keysets.REFUSED["no number"], "is not JSON"),
        (keysets.REFUSED["two members of one name"], "has an object with two members of one name"),
        (
            keysets.REFUSED["nested 98 deep"],
            "has more than 64 lists and objects inside one another",
        ),
        (keysets.REFUSED["other characters"], "has a key that cannot be read: keys[0]"),
    ],
)
def test_why_a_set_is_not_read_is_told(content: str, why: str) -> None:
    assert jwks.refusal(content.encode()) == why


def test_of_a_set_that_a_server_gives_the_keys_are_used_that_can_be_read() -> None:
    good = json.loads(keysets.TAKEN["RSA"])["keys"]
    bad = [json.loads(keysets.REFUSED[it])["keys"][0] for it in ("other characters", "exponent 17")]
    found = jwks.readable(json.dumps({"keys": [bad[0], *good, bad[1]]}).encode())
    assert json.loads(found) == {"keys": good}
