"""F69: of two operators the acting one freezes or is killed; the other takes over, and it alone.

Their Lease lasts 4 s. What each of them asks for is seen by a proxy of its own.
"""

import signal
import threading
import time
from pathlib import Path

from hack.measuring.faults.table import Limit, Turn, fault
from hack.measuring.operating.stage import Site, blocking, clustered
from tests.operator.operators import Operator, Rig
from tests.operator.proxy import Proxy, Request

TAKEN, COMPLETE = Limit("s", 12), Limit("s", 20)


@fault(
    "f69",
    clustered,
    patience=120,
    taken_over=TAKEN,
    complete=COMPLETE,
    written_by_both=Limit("", 0),
)
@blocking
def operator_frozen(turn: Turn, site: Site) -> None:
    """Within its writes, for longer than its Lease; awake again it writes nothing."""
    one, two = Proxy(site.cluster), Proxy(site.cluster)
    with site.home() as rig, one.running(), two.running():
        first = _stopped_within_writes(turn, rig, (one, two), signal.SIGSTOP)
        written = _writes(one)
        _taken_over(turn, rig, two)
        turn.prove("frozen", _state(first) == "T")
        first.process.send_signal(signal.SIGCONT)
        asked = len(one.requests)
        rig.until(lambda: len(one.requests) > asked)  # it is awake
        rig.configure(contour={"replicas": turn.chance.randint(3, 9)})
        rig.until(lambda: _is_told(rig))
        rig.until(lambda: len(one.requests) > asked + 3)
        turn.figures["written_by_both"] = _writes(one) - written


@fault("f69-killed", clustered, patience=120, taken_over=TAKEN, complete=COMPLETE)
@blocking
def operator_killed(turn: Turn, site: Site) -> None:
    """Within its writes, without a goodbye."""
    one, two = Proxy(site.cluster), Proxy(site.cluster)
    with site.home() as rig, one.running(), two.running():
        first = _stopped_within_writes(turn, rig, (one, two), signal.SIGKILL)
        _taken_over(turn, rig, two)
        turn.prove("killed", first.process.wait(10) == -signal.SIGKILL)


def _stopped_within_writes(
    turn: Turn, rig: Rig, proxies: tuple[Proxy, Proxy], number: signal.Signals
) -> Operator:
    """The one that acts; the other one waits for its Lease."""
    first = rig.start(proxy=proxies[0])
    rig.until(
        lambda: any("/leases" in it.path and it.method != "GET" for it in proxies[0].requests)
    )
    rig.start(proxy=proxies[1])
    rig.until(lambda: any("/leases" in it.path for it in proxies[1].requests))
    left, stopped = turn.chance.randint(1, 12), threading.Event()

    def answered(request: Request, code: int) -> None:
        nonlocal left
        left -= request.is_write and code < 400
        if not left and not stopped.is_set():
            first.process.send_signal(number)
            stopped.set()

    proxies[0].answered = answered
    rig.configure()
    rig.until(stopped.is_set)
    turn.expect(not _writes(proxies[1]), "both have acted")
    return first


def _taken_over(turn: Turn, rig: Rig, proxy: Proxy) -> None:
    start = time.monotonic()
    turn.figures["taken_over"] = rig.until(lambda: _writes(proxy))
    rig.until(lambda: _is_told(rig))
    turn.figures["complete"] = time.monotonic() - start


def _writes(proxy: Proxy) -> int:
    return sum(it.is_write for it in proxy.requests)


def _is_told(rig: Rig) -> bool:
    """All is there, as the configuration has it now."""
    generation = rig.cluster.get(rig.configuration())["metadata"]["generation"]
    condition = rig.condition("Provisioned")
    is_newest = condition.get("observedGeneration") == generation
    return is_newest and condition.get("status") == "True"


def _state(operator: Operator) -> str:
    stat = Path(f"/proc/{operator.process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0]
