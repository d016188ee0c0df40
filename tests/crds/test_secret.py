"""A Secret holds bytes, however they were written."""

import pytest

from tests.crds import documents
from tests.crds.objects import decoded, errors


def test_data_is_decoded_from_base64_with_or_without_line_breaks() -> None:
    secret = decoded(documents.secret(data={"a": "aGVsbG8=", "b": "aGVs\nbG8=\n", "c": ""}))
    assert secret.data == {"a": b"hello", "b": b"hello", "c": b""}
    assert secret.type == "Opaque"


def test_plain_text_is_merged_and_wins() -> None:
    secret = decoded(documents.secret(data={"a": "YQ==", "b": "Yg=="}, stringData={"b": "ä"}))
    assert secret.data == {"a": b"a", "b": "ä".encode()}
    assert secret == decoded(documents.secret(data={"a": "YQ==", "b": "w6Q="}))


@pytest.mark.parametrize("text", ["a", "%%%%", "YQ=", "Y Q==", "YQ==YQ=="])
def test_what_is_no_base64_is_refused(text: str) -> None:
    assert errors(documents.secret(data={"key": text})) == [("data.key", "must be base64")]


def test_a_secret_does_not_show_its_content() -> None:
    secret = decoded(documents.secret(data={"password": "aGVsbG8="}))
    assert "password" not in repr(secret)
    assert "hello" not in repr(secret)
