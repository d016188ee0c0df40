"""What annotations without effect here mean for the object that has them.

They are those of other controllers, and those under our prefix that nothing reads; all of them are
reported. One that guards something closes what it guards, unless the configuration says that it is
only to be reported (`spec.foreignGuards`): a user who migrates from another controller must not
expose anything unawares. Elsewhere: the tables (`dag.foreign`), the words (`problems.anywhere`),
the Services that an object leads to, which have no status of their own (`dag.warnings.anykind`).
"""

from collections.abc import Iterator

from crds.meta import NamespacedName, ObjectMeta, ObjectRef
from dag.configuration import settings
from dag.engine.view import View
from dag.foreign import known, own
from dag.foreign.known import Foreign
from dag.problems import Problem, anywhere


def closing(view: View, kind: str, metadata: ObjectMeta) -> tuple[Foreign, ...]:
    """The annotations of other controllers because of which an object is closed."""
    guards = tuple(it for it in _foreign(kind, metadata) if it.effect == "guard")
    return guards if guards and _are_closed(view) else ()


def problems_of(
    view: View,
    kind: str,
    metadata: ObjectMeta,
    subject: ObjectRef,
    service: NamespacedName | None = None,
) -> Iterator[Problem]:
    """Problems of annotations of an object, or of those of a Service that it leads to."""
    found = _foreign(kind, metadata)
    for it in found:
        place = anywhere.annotation(subject, it.name, service)
        if it.effect == "guard":
            is_closed = _are_closed(view)
            yield anywhere.foreign_guard(place, it.project, it.instead, is_closed=is_closed)
        elif it.effect == "behaviour":
            yield anywhere.foreign_annotation(place, it.project, it.instead)
    if harmless := [it.name for it in found if it.effect == "harmless"]:
        yield anywhere.foreign_tuning(subject, harmless)
    for name in own.unknown(metadata.annotations, kind):
        place = anywhere.annotation(subject, name, service)
        yield anywhere.unknown_annotation(place, known.nearest(name, own.OURS[kind]))


def _foreign(kind: str, metadata: ObjectMeta) -> tuple[Foreign, ...]:
    return known.foreign(metadata.annotations, own.OURS[kind]) if metadata.annotations else ()


def _are_closed(view: View) -> bool:
    return view.ask(settings.foreign_guards, ()) == "Closed"
