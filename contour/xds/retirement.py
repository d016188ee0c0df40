"""Parts of extensions that stay a while after they were taken out: routes may still name them.

A route names a part of an extension's configuration (a provider of tokens), and both change in one
publication. What is added goes out before the routes. What is gone would go out before them, too,
and requests between the two would be refused; so it waits until every route has had the time to
change. Without Envoys there is nobody to wait for.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from contour.xds.resources import EXTENSION, Change, Name

if TYPE_CHECKING:
    from contour.xds.fleet import Fleet

_Place = tuple[Name, str]


class Retirement:
    """What one fleet is to lose later."""

    def __init__(self, fleet: "Fleet") -> None:
        self._fleet = fleet
        self._until: dict[_Place, float] = {}

    def put_off(self, changes: Iterable[Change]) -> list[Change]:
        """The changes without the removals that wait, and with those that have waited."""
        now = self._fleet.clock()
        kept = self._due(now)
        leaving: list[_Place] = []
        for change in changes:
            place = (change.name, change.part)
            self._until.pop(place, None)
            if self._waits(change):
                leaving.append(place)
            else:
                kept.append(change)
        whole = {it.name for it in kept if it.part == "" and it.value is None}
        kept += (Change(name, part, None) for name, part in leaving if name in whole)
        self._delay([it for it in leaving if it[0] not in whole], now)
        return kept

    def _waits(self, change: Change) -> bool:
        is_part = change.name.type_url == EXTENSION and change.part != ""
        return is_part and change.value is None and bool(self._fleet.envoys)

    def _delay(self, places: list[_Place], now: float) -> None:
        if not places:
            return
        until = now + self._fleet.patience.warming + self._fleet.patience.grace
        self._until |= dict.fromkeys(places, until)
        for envoy in self._fleet.envoys:
            envoy.alarms.set(until, lambda _: self._fleet.publish(()))

    def _due(self, now: float) -> list[Change]:
        due = [place for place, until in self._until.items() if until <= now]
        for place in due:
            del self._until[place]
        return [Change(name, part, None) for name, part in due]
