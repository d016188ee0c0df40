"""The messages in bytes; that a server in Go reads them is shown by `test_with_go`."""

import pytest

from contour.hooks import wire

REQUESTS: list[tuple[wire.Hook, wire.Request, bytes]] = [
    ("Route", wire.Request({"route": (b"R",)}, ("a", "b"), (b"{}",)),
     b"\x0a\x01R\x12\x0c\x0a\x04\x0a\x02{}\x12\x01a\x12\x01b"),
    ("VirtualHost", wire.Request({"virtual_host": (b"V",)}), b"\x0a\x01V\x12\x00"),
    ("HTTPListener", wire.Request({"listener": (b"L",)}), b"\x0a\x01L\x12\x00"),
    ("Translation", wire.Request({"clusters": (b"C", b"D"), "secrets": (b"S",)}),
     b"\x0a\x00\x12\x01C\x12\x01D\x1a\x01S"),
]  # fmt: skip


@pytest.mark.parametrize(("hook", "request_", "body"), REQUESTS, ids=[it[0] for it in REQUESTS])
def test_requests_have_the_numbers_of_the_interface(
    hook: wire.Hook, request_: wire.Request, body: bytes
) -> None:
    assert wire.encoded_request(hook, request_) == body
    assert wire.decoded_request(hook, body) == request_


REPLIES: list[tuple[wire.Hook, wire.Resources, bytes]] = [
    ("Route", {"route": (b"R",)}, b"\x0a\x01R"),
    ("VirtualHost", {"virtual_host": (b"V",)}, b"\x0a\x01V"),
    ("HTTPListener", {}, b""),
    ("Translation", {"clusters": (b"C",), "secrets": (b"S", b"T")}, b"\x0a\x01C\x12\x01S\x12\x01T"),
]


@pytest.mark.parametrize(("hook", "resources", "body"), REPLIES, ids=[it[0] for it in REPLIES])
def test_replies_have_the_numbers_of_the_interface(
    hook: wire.Hook, resources: wire.Resources, body: bytes
) -> None:
    assert wire.encoded_reply(hook, resources) == body
    assert wire.decoded_reply(hook, body).resources == resources


def test_methods_have_the_names_of_the_interface() -> None:
    assert [wire.method(it) for it in wire.RPCS] == [
        f"/envoygateway.extension.EnvoyGatewayExtension/Post{it}Modify"
        for it in ("Route", "VirtualHost", "HTTPListener", "Translate")
    ]


@pytest.mark.parametrize("hook", wire.RPCS)
def test_bytes_that_are_no_message_are_refused(hook: wire.Hook) -> None:
    with pytest.raises(wire.UnreadableError):
        wire.decoded_request(hook, b"\x0a\xff")
    with pytest.raises(wire.UnreadableError):
        wire.decoded_reply(hook, b"\x0a\xff")


@pytest.mark.parametrize(
    "field",
    [
        *(b"\x0a\x00", b"\x0a\x81\x00x", b"\xe2\x80\x06\x03new", b"\x08\xff\x01"),
        *(b"\x09" + bytes(8), b"\x0d" + bytes(4)),
    ],
)
def test_fields_are_counted_without_being_decoded(field: bytes) -> None:
    assert not wire.has_more_fields(field * 3, 3)
    assert wire.has_more_fields(field * 3, 2)


@pytest.mark.parametrize("body", [b"", b"\xff" * 30, b"\x0a\xff\xff\xff\x7f", b"\x0a"])
def test_counting_ends_with_bytes_that_are_no_message(body: bytes) -> None:
    assert not wire.has_more_fields(body, 3)
