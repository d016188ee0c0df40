"""HTML from templates. Every value is escaped, since names and messages come from any user."""

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from contour import turns
from contour.answers.subjects import Subject
from contour.dashboard import drawing, links
from crds.meta import ObjectRef

if TYPE_CHECKING:
    import jinja2


def _of(subject: Subject) -> ObjectRef:
    return ObjectRef(subject["kind"], subject["namespace"], subject["name"])


_GIVEN: Mapping[str, object] = {
    "link": links.page,
    "host_link": links.host,
    "object_link": links.subject,
    "object_of": _of,
    "box_width": drawing.WIDTH,
    "box_height": drawing.HEIGHT,
}
"""What all templates can use."""


async def rendered(template: str, **values: object) -> str:
    """A page. Raises jinja2.UndefinedError if the template uses a value that is not given."""
    if template not in _compiled:
        await asyncio.to_thread(_compile, template)
    made = _environment().get_template(template).generate({**_GIVEN, **values})
    return "".join(await turns.collected(made))


_compiled: set[str] = set()


def _compile(template: str) -> None:
    """Compiles the templates for the first page, in a thread: it would block the event loop for too
    long."""
    for name in (template, "base.html", "macros.html"):
        _environment().get_template(name)
    _compiled.add(template)


@cache
def _environment() -> "jinja2.Environment":
    import jinja2  # noqa: PLC0415 - for those who look at the dashboard

    return jinja2.Environment(
        loader=jinja2.PackageLoader("contour.dashboard"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
