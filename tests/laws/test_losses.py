"""Losing something never opens anything.

A request that was refused is refused still, what it had to pass it has to pass still, and it
reaches no Service that it did not reach before: whatever object is deleted or not valid any more to
which others refer, and whatever guard cannot be built any more.

`LAW_WORLDS` says on how many worlds the law is tried.
"""

import os
from collections.abc import Iterable, Iterator

from crds.decode import Decoded, decode
from dag import hosts, listeners, tables
from dag.engine.incremental import Engine
from dag.evaluation.requests import Request
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import clientports, filteredlisteners
from dag.plan import PLAN
from tests.laws import tenants
from tests.laws.reach import CERTIFICATES, Reach, reach
from tests.laws.tenants import Document, Loss

_CREDENTIALS = (("authorization", "Bearer x"), ("x-key", "secret"))
_CLIENTS = (((), tenants.OUTSIDE), (_CREDENTIALS, tenants.INSIDE))
_HOSTS = ("x.com", "w.x.com", "v.x.com", "y.com")
_PLAIN = tuple(
    Request(host, path, headers=headers, source=source)
    for host in _HOSTS
    for path in tenants.PATHS
    for headers, source in _CLIENTS
)
_SECURE = tuple(
    Request(it.host, it.path, "GET", it.headers, 443, is_secure=True, server_name=name,
            source=it.source)
    for it in _PLAIN for name in (it.host, "", "x.com")
)  # fmt: skip
REQUESTS = dict.fromkeys((*_PLAIN, *_SECURE))


def test_losing_something_opens_nothing() -> None:
    reached, seeds = 0, range(int(os.environ.get("LAW_WORLDS", "50")))
    for seed in seeds:
        world, engine = tenants.World(seed), Engine(PLAN)
        engine.write(tables.FLEETS, DEFAULT_FLEET, True)
        _write(engine, ((it, it) for it in world.objects))
        before = {it: reach(engine, it) for it in REQUESTS}
        reached += sum(bool(it.backends) for it in before.values())
        for loss in world.losses():
            if _write(engine, loss.changes):
                opened = [*_opened(engine, before, loss)]
                assert not opened, f"world {seed}, {loss.words}: {opened[0]}"
            _write(engine, ((was, was) for was, _ in loss.changes))
    assert reached > 10 * len(seeds), reached


def _opened(engine: Engine, before: dict[Request, Reach], loss: Loss) -> Iterator[str]:
    for request, was in before.items():
        now = reach(engine, request)
        words = now.opened(was)
        if words and not _may_open(request, was, now, before, loss):
            client = f"{request.url} over {request.asked!r} from {request.source}"
            yield f"{client}: {words}; before {was.answer}, now {now.answer}"


def _may_open(
    request: Request, was: Reach, now: Reach, before: dict[Request, Reach], loss: Loss
) -> bool:
    """Whether a request may be answered otherwise, as documented."""
    if was.origin is not None and (*was.origin,) in loss.emptied_proxies and was.host == now.host:
        return True  # the author's own routes: wider ones of the host take their requests
    if (was.host or request.host) in loss.left_hosts and was.host != now.host:
        return True  # as if there were no HTTPProxy for the host: a wider one takes its requests
    if was.origin == now.origin and CERTIFICATES in now.guards - was.guards:
        return True  # another API, which checked nobody, terminates its TLS no longer
    own = Request(
        request.host, request.path, "GET", request.headers, 443, is_secure=True,
        server_name=request.host, source=request.source,
    )  # fmt: skip
    if not request.is_secure or own == request:
        return False
    asked = before[own]  # whoever asks by its name gets it
    return not now.opened(asked) or _may_open(own, asked, now, before, loss)


_SERVED = {
    hosts.virtual_host,
    hosts.secure_host,
    hosts.unserved_hosts,
    listeners.listener,
    filteredlisteners.filters,
    clientports.settings,
}


def _write(engine: Engine, changes: Iterable[tuple[Document, Document | None]]) -> bool:
    """Writes what each object becomes, and settles; whether that changes what is served."""
    for was, it in changes:
        found = decode(was if it is None else it)
        assert isinstance(found, Decoded), found
        assert found.object is not None, (it, found.complaints)
        row = None if it is None else found.object
        engine.write(tables.BY_KIND[found.kind.kind], found.key, row)
    changed = [query for query, *_ in engine.settle()]
    assert not engine.failures, engine.failures
    return not _SERVED.isdisjoint(changed)
