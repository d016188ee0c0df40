"""Names of resources, and their one form. What gRPC makes of them: `tests/grpcclients`."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from contour.xds import xdstp
from contour.xds.resources import LISTENER
from contour.xds.xdstp import ResourceName

TYPE = "envoy.config.listener.v3.Listener"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.builds(
    ResourceName,
    authority=TEXTS.filter(lambda it: "/" not in it),
    type=st.just(TYPE),
    id=TEXTS,
    context=st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=3).map(
        lambda it: tuple(sorted(it.items(), key=lambda pair: pair[0].encode()))
    ),
)


@given(NAMES)
def test_what_is_written_is_read_back(name: ResourceName) -> None:
    assert xdstp.parse(str(name)) == name
    assert xdstp.canonical(str(name)) == str(name)


@given(st.text(max_size=40))
@example(f"//a/x%2F{TYPE}/y")
@example(f"/%2Fa.example/{TYPE}/y")
def test_any_text_has_one_form_or_a_reason(text: str) -> None:
    for it in (text, f"xdstp:{text}", f"xdstp://a/{TYPE}/{text}"):
        try:
            found = xdstp.canonical(it)
        except xdstp.Malformed:
            continue
        assert xdstp.canonical(found) == found
        if it.startswith(xdstp.SCHEME):
            assert xdstp.parse(found) == xdstp.parse(it)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("echo.shop:50051", "echo.shop:50051"),
        ("anything at all/é", "anything at all/é"),
        (f"xdstp://a/{TYPE}/x?z&a=1", f"xdstp://a/{TYPE}/x?a=1&z="),
        (f"xdstp://a/{TYPE}/x?a=1&a=2", f"xdstp://a/{TYPE}/x?a=2"),
        (f"xdstp://a/{TYPE}/x#fragment", f"xdstp://a/{TYPE}/x"),
        (f"xdstp:///{TYPE}/x", f"xdstp:/{TYPE}/x"),
        (f"xdstp:/{TYPE}/x", f"xdstp:/{TYPE}/x"),
        (f"xdstp://a/{TYPE}/foo/bar", f"xdstp://a/{TYPE}/foo/bar"),
        (f"xdstp://a/{TYPE}/a%40%5bb%5d", f"xdstp://a/{TYPE}/a@%5Bb%5D"),
        (f"xdstp://a/{TYPE}/%2", f"xdstp://a/{TYPE}/%252"),
        (f"xdstp://a/{TYPE}%2Fx", f"xdstp://a/{TYPE}/x"),
    ],
)
def test_the_form(written: str, canonical: str) -> None:
    assert xdstp.canonical(written) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "xdstp:",
        "xdstp://a",
        f"xdstp://a/{TYPE}",
        "xdstp://a/b c/d",
        "x" * 2049,
        f"xdstp:%2F%2Fa/{TYPE}/x",
    ],
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(xdstp.Malformed):
        xdstp.canonical(text)


def test_a_name_is_made_of_a_type_url() -> None:
    assert xdstp.named("a.example", LISTENER, "x") == f"xdstp://a.example/{TYPE}/x"
