"""Parts of extension configurations that stay for a while after removal, because routes may still
name them.

A route names a part of an extension's configuration (such as a JWT provider), and both change in
one publication. Additions are sent before the routes. Removals would be sent before the routes,
too, and requests between the two would be refused; so removals wait until every route has had time
to change. Without Envoys they do not wait.
"""

from collections.abc import Iterable

from contour.xds.resources import EXTENSION, Change, Name, PartKey


class DelayedRemovals:
    """The delayed removals of one fleet. Times are in seconds."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._until: dict[PartKey, float] = {}

    def is_waiting(self, name: Name) -> bool:
        """Whether the removal of a part of a resource waits."""
        return any(it == name for it, _ in self._until)

    def put_off(
        self, changes: Iterable[Change], now: float, *, has_envoys: bool
    ) -> tuple[list[Change], float | None]:
        """The changes without removals that have to wait, and with those that have waited; and the
        time at which the wait of the new ones ends."""
        kept = self._due(now)
        delayed: list[PartKey] = []
        for change in changes:
            key = (change.name, change.part)
            self._until.pop(key, None)
            if has_envoys and _is_delayed(change):
                delayed.append(key)
            else:
                kept.append(change)
        whole = {it.name for it in kept if it.part == "" and it.value is None}
        kept += (Change(name, part, None) for name, part in delayed if name in whole)
        waiting = [it for it in delayed if it[0] not in whole]
        self._until |= dict.fromkeys(waiting, now + self._delay)
        return kept, now + self._delay if waiting else None

    def _due(self, now: float) -> list[Change]:
        due = [key for key, until in self._until.items() if until <= now]
        for key in due:
            del self._until[key]
        return [Change(name, part, None) for name, part in due]


def _is_delayed(change: Change) -> bool:
    return change.name.type_url == EXTENSION and change.part != "" and change.value is None
