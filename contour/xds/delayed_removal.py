"""Parts of extensions that stay a while after they were taken out: routes may still name them.

A route names a part of an extension's configuration (a provider of tokens), and both change in one
publication. What is added goes out before the routes. What is gone would go out before them, too,
and requests between the two would be refused; so it waits until every route has had the time to
change. Without Envoys there is nobody to wait for.
"""

from collections.abc import Iterable

from contour.xds.resources import EXTENSION, Change, PartKey


class DelayedRemovals:
    """What one fleet is to lose later. Times are in seconds."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._until: dict[PartKey, float] = {}

    def put_off(
        self, changes: Iterable[Change], now: float, *, has_envoys: bool
    ) -> tuple[list[Change], float | None]:
        """The changes without the removals that wait, and with those that have waited; and when
        those end that begin to wait now."""
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
