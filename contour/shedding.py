"""Moves Envoys to replicas that are current, while this one is not.

First the Service has to notice that this replica is not ready; otherwise a disconnected Envoy would
come back here. Then Envoys are disconnected a few at a time, since each asks its new replica for
all that it has missed. An Envoy that comes back nevertheless is disconnected again.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

log = logging.getLogger(__name__)


class Pace(NamedTuple):
    """All values but `steps` are seconds."""

    look: float = 1.0
    notice: float = 6.0
    """Until the Service has noticed that we are not ready: two probes, two seconds apart, that may
    take one second each (`provisioning/templates/control_plane.yaml.j2`)."""
    steps: int = 10
    """The number of steps in which all Envoys are disconnected, at least one in each."""


class Holder(Protocol):
    """The server of the Envoys; `contour.xds.server.Server`."""

    @property
    def connections(self) -> int:
        """How many Envoys there are."""
        ...

    def let_go(self, number: int) -> int:
        """Ends the connections of `number` Envoys. Returns how many there were."""
        ...


class Shedding:
    """Disconnects Envoys for as long as this replica lacks something that another replica has."""

    def __init__(self, lack: Callable[[], str], holder: Holder, pace: Pace | None = None) -> None:
        self._lack = lack
        self._holder = holder
        self.pace = pace or Pace()
        self.shed = 0
        """How many Envoys have been disconnected since the start."""

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
        """Disconnects Envoys; returns when this replica is current again."""
        left, step = self.pace.notice, 0
        while self._lack():
            await asyncio.sleep(self.pace.look)
            left -= self.pace.look
            if left > 0 or not self._lack():
                continue
            step = max(step, -(-self._holder.connections // self.pace.steps))
            self.shed += self._holder.let_go(step)
