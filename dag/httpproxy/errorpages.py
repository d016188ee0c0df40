"""What clients see in place of an error answer. Beside Contour's fields.

Whoever answered: Envoy or a Service. Source: Envoy, "Custom response".
"""

from crds import errorpages as crd
from dag import nodes
from dag.faults import Fault
from dag.values import headers

NOT_VALID = "ErrorPagesInvalid"
MAX_BODY = 4096
"""Bytes; Envoy refuses a longer one."""


def pages(written: tuple[crd.ErrorPage, ...]) -> tuple[nodes.ErrorPage, ...] | None:
    """The pages; Fault says why there can be none."""
    return tuple(_page(f"errorPages[{n}]", it) for n, it in enumerate(written)) or None


def _page(step: str, written: crd.ErrorPage) -> nodes.ErrorPage:
    if len(written.body.encode()) > MAX_BODY:
        raise Fault(NOT_VALID, f"{step}.body", f"has more than {MAX_BODY} bytes")
    if refusal := headers.value_refusal(written.content_type):
        raise Fault(NOT_VALID, f"{step}.contentType", refusal)
    for it in written.statuses:
        if it.start >= it.end:
            raise Fault(NOT_VALID, f"{step}.statuses", "start must be less than end")
    ranges = tuple((it.start, it.end) for it in written.statuses)
    return nodes.ErrorPage(ranges, written.body, written.content_type, written.status_code)
