"""Sends Envoys to replicas that are current, while this one is not.

First the Service has to know: an Envoy that is let go before comes back here. Then they are let go
a few at a time, for each of them asks whoever takes it for all that it has missed. Who comes back
all the same is let go again.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

log = logging.getLogger(__name__)


class Pace(NamedTuple):
    """Seconds, but for `steps`."""

    look: float = 1.0
    notice: float = 6.0
    """Until the Service has noticed that we are not ready: two probes, two seconds apart, that may
    take one second each (`provisioning/templates/control_plane.yaml.j2`)."""
    steps: int = 10
    """In which all Envoys are let go; one at least each time."""


class Holder(Protocol):
    """Who has the Envoys; `contour.xds.server.Server`."""

    @property
    def connections(self) -> int:
        """How many Envoys there are."""
        ...

    def let_go(self, number: int) -> int:
        """Ends the connections of so many Envoys; how many there were."""
        ...


class Shedding:
    """Lets Envoys go for as long as something is lacking here that another replica has."""

    def __init__(self, lack: Callable[[], str], holder: Holder, pace: Pace | None = None) -> None:
        self._lack = lack
        self._holder = holder
        self.pace = pace or Pace()
        self.shed = 0
        """Envoys that were let go, ever."""

    async def run(self) -> None:
        """Never ends."""
        while True:
            await asyncio.sleep(self.pace.look)
            lack = self._lack()
            if lack:
                log.warning(
                    "this replica is outdated, so it is not ready and moves its Envoys to other "
                    "replicas: %s",
                    lack,
                )
                await self._until_current()
                log.info("this replica is up to date again")

    async def _until_current(self) -> None:
        """Returns when nothing is lacking any more."""
        left, step = self.pace.notice, 0
        while self._lack():
            await asyncio.sleep(self.pace.look)
            left -= self.pace.look
            if left > 0 or not self._lack():
                continue
            step = max(step, -(-self._holder.connections // self.pace.steps))
            self.shed += self._holder.let_go(step)
