"""Certificates are replaced in time, and nobody ever meets one that he does not trust yet."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from provisioning import certificates, rotation
from provisioning.certificates import Authority
from provisioning.rotation import Holdings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
WANT = rotation.wanted()


def held(after: timedelta = timedelta(), authorities: tuple[Authority, ...] = ()) -> Holdings:
    return rotation.renewed(Holdings(authorities), WANT, NOW + after)


def test_the_first_time_everything_is_made() -> None:
    found = held()
    assert len(found.authorities) == 1
    assert set(found.leaves) == {"contour", "envoy"}
    for leaf in found.leaves.values():
        authority = found.authorities[0].certificate
        assert certificates.is_issued_by(leaf.certificate, authority)


@pytest.mark.parametrize(
    ("days", "is_renewed"), [(0, False), (1, False), (59, False), (60, True), (100, True)]
)
def test_a_leaf_is_renewed_at_two_thirds_of_its_life(days: int, is_renewed: bool) -> None:
    first = held()
    second = rotation.renewed(first, WANT, NOW + days * DAY)
    assert (second.leaves != first.leaves) is is_renewed
    assert second.authorities == first.authorities


def test_an_authority_is_replaced_by_overlap() -> None:
    first = held(authorities=(certificates.authority(NOW - 300 * DAY),))
    old, new = first.authorities
    steps = [first]
    for hours in (0, 0.5, 1, 1.5, 2, 3):
        steps.append(rotation.renewed(steps[-1], WANT, NOW + timedelta(hours=hours)))
    trusted = [tuple("old" if it is old else "new" for it in step.authorities) for step in steps]
    both = ("old", "new")
    assert trusted == [both, both, both, both, both, ("new",), ("new",)]
    signers = [_signers(step) for step in steps]
    assert signers == [{old}, {old}, {old}, {new}, {new}, {new}, {new}]


def test_nothing_is_due_before_it_is_due_and_something_is_then() -> None:
    now, found = NOW, held()
    for _ in range(40):
        due = rotation.due(found)
        assert due > now
        assert rotation.renewed(found, WANT, due - timedelta(seconds=1)) == found
        now, after = due, rotation.renewed(found, WANT, due)
        assert after != found
        found = after
    assert now > NOW + 2 * certificates.AUTHORITY_LIFETIME


@pytest.mark.parametrize("seed", range(5))
def test_whenever_it_is_asked_no_pod_meets_a_certificate_it_does_not_trust(seed: int) -> None:
    """Pods see what was written up to an hour late, each on its own."""
    chance = random.Random(seed)
    history = [(NOW, held())]
    while history[-1][0] < NOW + 3 * certificates.AUTHORITY_LIFETIME:
        gap = chance.choice((timedelta(minutes=20), timedelta(hours=3), DAY, 9 * DAY))
        now = history[-1][0] + gap
        history.append((now, rotation.renewed(history[-1][1], WANT, now)))
    for index, (now, _) in enumerate(history):
        spread = [at for at, (then, _) in enumerate(history) if then <= now - rotation.SPREAD]
        seen = [found for _, found in history[max(spread, default=0) : index + 1]]
        for pod in seen:
            for leaf in (leaf for peer in seen for leaf in peer.leaves.values()):
                assert _is_trusted(leaf, pod)
                assert now < leaf.certificate.not_valid_after_utc


def test_an_authority_without_its_key_is_trusted_until_its_leaves_are_gone() -> None:
    """As with the Secrets that Contour's certgen leaves: the key is thrown away."""
    foreign = held()
    keyless = Holdings((Authority(foreign.authorities[0].certificate, None),), foreign.leaves)
    first = rotation.renewed(keyless, WANT, NOW)
    assert first.leaves == foreign.leaves
    assert len(first.authorities) == 2
    second = rotation.renewed(first, WANT, NOW + rotation.SPREAD)
    assert _signers(second) == {first.authorities[1]}
    third = rotation.renewed(second, WANT, NOW + 2 * rotation.SPREAD)
    assert third.authorities == first.authorities[1:]


@pytest.mark.parametrize("spoilt", ["names", "key", "expired", "early", "untrusted", "absent"])
def test_a_leaf_that_does_not_serve_is_replaced_at_once(spoilt: str) -> None:
    first = held()
    leaf, other = first.leaves["envoy"], first.leaves["contour"]
    stranger = certificates.leaf(certificates.authority(NOW), WANT.subjects["envoy"], 9 * DAY, NOW)
    broken = {
        "names": certificates.Leaf(other.certificate, other.key),
        "key": certificates.Leaf(leaf.certificate, other.key),
        "expired": certificates.leaf(
            first.authorities[0], WANT.subjects["envoy"], DAY, NOW - 2 * DAY
        ),
        "early": certificates.leaf(
            first.authorities[0], WANT.subjects["envoy"], 9 * DAY, NOW + DAY
        ),
        "untrusted": stranger,
    }
    leaves = {"contour": other} | ({"envoy": broken[spoilt]} if spoilt in broken else {})
    found = rotation.renewed(Holdings(first.authorities, leaves), WANT, NOW)
    assert found.leaves["contour"] == other
    assert found.leaves["envoy"] not in (leaf, broken.get(spoilt))
    assert _signers(found) == set(first.authorities)


def test_after_all_has_expired_everything_is_made_anew() -> None:
    found = rotation.renewed(held(), WANT, NOW + 1000 * DAY)
    assert len(found.authorities) == 1
    assert not set(found.authorities) & set(held().authorities)


@pytest.mark.parametrize(("days", "keeps_authority"), [(31, True), (400, False)])
def test_what_a_clock_that_was_ahead_has_made_is_made_anew(
    days: int, keeps_authority: bool
) -> None:
    first = held(-30 * DAY)
    ahead = rotation.renewed(first, WANT, NOW + days * DAY)
    found = rotation.renewed(ahead, WANT, NOW)
    assert all(it.certificate.not_valid_before_utc <= NOW for it in found.leaves.values())
    assert {it for it in found.authorities if it.certificate.not_valid_before_utc > NOW} == set(
        () if keeps_authority else ahead.authorities
    )
    assert (found.authorities == first.authorities) is keeps_authority
    assert rotation.renewed(found, WANT, NOW + DAY) == found
    fleet = WANT.subjects["envoy"]
    early = ahead.leaves["envoy"]
    assert rotation.joined(ahead.authorities, early, fleet, NOW) != early


def test_a_clock_that_is_behind_distrusts_nothing_and_signs_with_what_is_valid_by_it() -> None:
    """Its peers, whose clocks are right, have certificates of the authority that it doubts."""
    first = held()
    behind = NOW - timedelta(hours=3)
    found = rotation.renewed(first, WANT, behind)
    assert all(_is_trusted(it, found) for it in first.leaves.values())
    assert _signers(found) == set(found.authorities) - set(first.authorities)
    assert rotation.renewed(found, WANT, behind + timedelta(minutes=30)) == found
    corrected = rotation.renewed(found, WANT, NOW + rotation.SPREAD)
    assert _signers(corrected) == set(first.authorities)
    assert rotation.joined(first.authorities, None, WANT.subjects["envoy"], behind) is None


def _signers(found: Holdings) -> set[Authority]:
    return {
        authority
        for authority in found.authorities
        for leaf in found.leaves.values()
        if certificates.is_issued_by(leaf.certificate, authority.certificate)
    }


def _is_trusted(leaf: certificates.Leaf, by: Holdings) -> bool:
    return any(certificates.is_issued_by(leaf.certificate, it.certificate) for it in by.authorities)
