"""F43: a rule of ours raises. What it answered last is served on, and nobody else notices."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from dag import hosts, nodes
from dag.engine.view import View
from hack.measuring import world
from hack.measuring.faults import planted
from hack.measuring.faults.planted import Planted
from hack.measuring.faults.table import Limit, Turn, fault

sixty = planted.stage(60)


@fault("f43", sixty, others=Limit("s", 1), healed=Limit("s", 1))
async def raising(turn: Turn, site: Planted) -> None:
    """The rule for one host raises while hosts change: that one stays as it was, others go on."""
    number = turn.chance.randrange(site.of.hosts)
    harmed, sign = site.edited(number)
    edits = {it: site.edited(it) for it in range(site.of.hosts) if it != number}
    others = [document for document, _ in edits.values()]
    async with site.loaded(turn):
        with _raises_for(world.fqdn(number)) as raised:
            site.change(harmed, *others)
            turn.prove("raised", len(raised))
            turn.prove("failures", len(site.controller.engine.failures))
            start = time.monotonic()
            seen = [await site.seen(it, edits[it][1]) for it in turn.chance.sample(list(edits), 20)]
            turn.expect(not sign(await site.ask(number)), "the harmed host has changed")
        again, sign = site.edited(number)
        site.change(again)
        begin = time.monotonic()
        healed = await site.seen(number, sign) - begin
        turn.expect(not site.controller.engine.failures, "not healed by the next change")
    turn.figures |= {"others": max(seen) - start, "healed": healed}


@contextlib.contextmanager
def _raises_for(host: str) -> Iterator[list[str]]:
    """Plants a bug in the rule that makes virtual hosts."""
    query: Any = hosts.virtual_host
    rule, raised = query.rule, []

    def buggy(view: View, key: nodes.HostKey) -> nodes.VirtualHost | None:
        found: nodes.VirtualHost | None = rule(view, key)
        if key.host == host:  # after it has read, as a bug over what it reads would
            raised.append(host)
            raise ValueError("planted")
        return found

    query.rule = buggy
    try:
        yield raised
    finally:
        query.rule = rule
