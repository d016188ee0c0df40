"""Finds by trials which part of a refused response is to blame, without ever serving less.

Envoy refuses a response because of one bad entry, with a message that need not name it, and may
have applied some of the rest. So everything that the response changed falls back to what was
accepted last, and is tried again in groups, each in a response of its own on top of what is
accepted: an accepted group stays, a refused one is halved, until the parts are found that are
refused alone. They may have been refused only because of something that was accepted later (a
domain that moved from one host to another), so they are tried once more after such progress.
Elsewhere: what is done with the parts that were found (`quarantine`).

    {a b c d} refused ─► {a b} accepted ─► {c d} refused ─► {c} accepted ─► {d} refused: it is d
"""

from collections import Counter
from collections.abc import Iterator

from contour.xds.gates import Gates
from contour.xds.resources import Resource, is_same
from contour.xds.state import Baseline, InFlightResponse, Override, Search, Suspect
from contour.xds.subscription import Subscription

_MOST_NAMED = 8
LONGEST_WORDS = 2048
"""Characters of a refusal that are kept for each part to blame, and shown."""


def refused(gates: Gates, by: Subscription, response: InFlightResponse, words: str) -> None:
    """A response was refused: everything that it changed is suspect. A client that is served by
    name itself says what it refuses, and has kept its former value."""
    if by.viewer is not None:
        by.decline(response, words)
        return
    search = by.search = by.search or Search()
    is_certain = _changed_one_part(by, response)
    suspects = [
        it
        for name, before in response.before.items()
        for it in _suspects(gates, by, search, name, before)
    ]
    if len(suspects) == 1 and (is_certain or suspects[0] == search.alone):
        search.blamed[suspects[0]] = words[:LONGEST_WORDS] or "rejected without a reason"
        search.again.discard(suspects[0])
    else:
        search.queue.extendleft(reversed(list(_groups(by, suspects, words))))


def acknowledged(by: Subscription, response: InFlightResponse) -> None:
    """A response was accepted: blamed parts may be acceptable on top of it."""
    by.accept(response)
    if by.search is not None:
        found = by.search.blamed.keys() - by.search.retried
        by.search.again |= {it for it in found if it.name in response.before}


def next_trial(gates: Gates, by: Subscription, search: Search, now: float) -> list[str]:
    """Serves the next group of suspects again; returns the names that are to go out, alone."""
    if search.was_trial and by.sendable():
        search.was_trial = False  # now other resources have their turn
        return []
    while search.queue:
        group = [it for it in search.queue.popleft() if _serve(gates, by, search, it, now)]
        served = {it.name for it in group}
        names = [it for it in by.sendable() if it in served]
        if names:
            search.was_trial = True
            search.alone = group[0] if len(group) == 1 else None
            return names
        _retry(search)
    return []


def verdict(by: Subscription, search: Search) -> dict[Suspect, str] | None:
    """The parts to blame, each with the message of its refusal; None while the search goes on."""
    _retry(search)
    if search.queue or by.in_flight:
        return None
    by.search = None
    by.settle({it.name for it in search.blamed})  # except those that are still held back
    return search.blamed


def _changed_one_part(by: Subscription, response: InFlightResponse) -> bool:
    """Whether a response changed a single part, which has not changed since."""
    if by.search and any(it in by.dirty for it in response.before):
        by.search.alone = None
    if len(response.before) > 1:
        return False
    for name, before in response.before.items():
        resource = by.resource(name)
        if name in by.dirty or resource is None:
            return False
        if not before.is_whole:
            return len(before.parts) <= 1
        # What is sent in place of the newest of a part may have been in this response.
        sent = {**resource.parts, **by.overridden_parts(name)}
        return sum(it is not None for it in sent.values()) <= 1
    return False


def _retry(search: Search) -> None:
    if not search.queue and search.again:
        search.queue.extend([it] for it in sorted(search.again))
        search.retried |= search.again
        for it in search.again:
            del search.blamed[it]
        search.again = set()


def _suspects(
    gates: Gates, by: Subscription, search: Search, name: str, before: Baseline
) -> Iterator[Suspect]:
    """The parts that differ from what was accepted; what was accepted is served in their place."""
    later = next((it for it in by.in_flight if name in it.before), None)
    if later is not None:
        later.before[name] = before.then(later.before[name])
        return
    if name in by.dirty:
        before = before.then(by.dirty.pop(name))
    if not before.is_unknown:
        changed = list(_fallen_back(gates, by, name, before))
        yield from changed
        if changed:
            return
    elif by.lists_all:
        # Holding back what cannot be rendered would remove it. Envoy has applied what it could.
        return
    elif by.resource(name) is not None:
        by.drop_overrides(name)  # what Envoy has of it is no longer known
        by.override(name, "", Override(None, is_whole=True))
    search.wholes[name] = before
    yield Suspect(name, "")


def _fallen_back(gates: Gates, by: Subscription, name: str, before: Baseline) -> Iterator[Suspect]:
    resource = by.resource(name)
    if resource is None:
        return
    # Something may be kept of a part that is refused and not served any more.
    every = {**before.parts, **resource.parts, **by.overrides_of(name)}
    for part in sorted(every if before.is_whole else before.parts):
        accepted, newest = before.parts.get(part), resource.parts.get(part)
        override = by.overrides_of(name).get(part)
        if override is not None:
            override.value = accepted
            if is_same(accepted, newest):
                by.serve_newest(name, part)
                continue
            if accepted is not None or not override.refusal:
                continue
            by.lift(name, part)  # The kept value was never accepted, so there is nothing to keep.
        if accepted is None and part == "" and _is_fragment(resource):
            continue  # It cannot be tried without one of the others, so these are tried with it.
        if gates.keep_accepted(by, name, part, accepted, newest):
            continue
        if not is_same(accepted, newest):
            by.override(name, part, Override(accepted))
            yield Suspect(name, part)


def _is_fragment(resource: Resource) -> bool:
    head = resource.parts.get("")
    return head is not None and head.is_fragment


def _groups(by: Subscription, suspects: list[Suspect], words: str) -> Iterator[list[Suspect]]:
    """The next groups: first heads that other parts need, then the parts that the message names,
    then halves."""
    several = Counter(it.name for it in suspects)
    heads = [it for it in suspects if it.part == "" and several[it.name] > 1 and _is_new(by, it)]
    others = [it for it in suspects if it not in set(heads)]
    named = [it for it in others if (it.part or it.name) in words][:_MOST_NAMED]
    rest = [it for it in others if it not in set(named)]
    yield from filter(None, (heads, *([it] for it in named)))
    if heads or named:
        yield from filter(None, (rest,))
    elif len(rest) == 1:
        yield rest
    elif rest:
        middle = len(rest) // 2
        yield rest[:middle]
        yield rest[middle:]


def _is_new(by: Subscription, head: Suspect) -> bool:
    return by.is_head_held(head.name)


def _serve(gates: Gates, by: Subscription, search: Search, suspect: Suspect, now: float) -> bool:
    """Serves the newest value of a suspect, if it is still one."""
    name, part = suspect
    before = search.wholes.pop(name, None)
    override = by.overrides_of(name).get(part)
    if override is not None and override.is_suspect and override.is_whole:
        gates.release(by, name, part, now)
    elif override is not None and override.is_suspect:
        by.serve_newest(name, part)
    elif before is not None:
        by.mark(name, before)
    else:
        return False
    return True
