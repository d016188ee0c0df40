"""Error pages: what clients see in place of an error answer. A field that upstream does not have.

They replace errors of Envoy and of Services alike. Source: Envoy, "Custom response".
"""

from crds import errorpages as crd
from dag import nodes
from dag.httpproxy import answers
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.values import headers

MAX_BODY = 4096
"""Bytes; Envoy refuses a longer one."""


def pages(
    place: Place, written: tuple[crd.ErrorPage, ...]
) -> Findings[tuple[nodes.ErrorPage, ...] | None]:
    """The pages of a host or route; Refused if there can be none."""
    made: list[nodes.ErrorPage] = []
    for number, it in enumerate(written):
        page = yield from _page(place.at("errorPages", number), it)
        made.append(page)
    return tuple(made) or None


def _page(place: Place, written: crd.ErrorPage) -> Findings[nodes.ErrorPage]:
    if len(written.body.encode()) > MAX_BODY:
        text = f"has more than {MAX_BODY} bytes"
        raise Refused(problems.error_page_not_valid(place.at("body"), text))
    if refusal := headers.value_refusal(written.content_type):
        raise Refused(problems.error_page_not_valid(place.at("contentType"), refusal))
    for it in written.statuses:
        if it.start >= it.end:
            text = "start must be less than end"
            raise Refused(problems.error_page_not_valid(place.at("statuses"), text))
    ranges = tuple((it.start, it.end) for it in written.statuses)
    body = yield from answers.sent(place.at("body"), written.status_code, written.body)
    return nodes.ErrorPage(ranges, body, written.content_type, written.status_code)
