"""Encodes a question to an extension, and turns an answer into a reply."""

from collections.abc import Iterable, Mapping

from contour.envoy.hooks import lists
from contour.envoy.hooks.questions import Question, Reply
from contour.hooks import wire
from contour.hooks.replies import Answer


def encoded(question: Question) -> bytes:
    """The bytes of a question."""
    if question.hook == "Translation":
        clusters, secrets = (tuple(it.values()) for it in question.lists)
        everything: wire.Resources = {"clusters": clusters, "secrets": secrets}
        return wire.encoded_request(question.hook, wire.Request(everything))
    (field,) = wire.FIELDS[question.hook]
    resources: wire.Resources = {field: (question.body,)}
    request = wire.Request(resources, question.hostnames, question.objects)
    return wire.encoded_request(question.hook, request)


def reply(question: Question, found: Answer) -> Reply:
    """What an extension wants instead of what it was asked about."""
    decoded = wire.decoded_reply(question.hook, found.body)
    if question.hook != "Translation":
        return Reply(decoded.single)
    answer = lists.Lists(
        _named(question.lists.clusters, decoded.resources.get("clusters", ())),
        _named(question.lists.secrets, decoded.resources.get("secrets", ())),
    )
    return Reply(lists.difference(question.lists, answer))


def _named(asked: Mapping[str, bytes], found: Iterable[bytes]) -> dict[str, bytes]:
    """What an answer lists, by name; the names of those that it was asked about are known."""
    known = {body: name for name, body in asked.items()}
    return {known.get(body) or wire.name(body): body for body in found}
