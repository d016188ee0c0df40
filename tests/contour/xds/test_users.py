"""Parts that need a resource come and go, one or many."""

from contour.xds.resources import CLUSTER, ROUTE, Name, PartKey
from contour.xds.users import UsersByName

NAME = Name(CLUSTER, "a")


def user(number: int) -> PartKey:
    return Name(ROUTE, "table"), f"host-{number}"


def test_each_user_is_there_once_until_it_goes() -> None:
    users = UsersByName()
    for number in (0, 1, 2, 1, 0):
        users.add(NAME, user(number))
    for gone, left in ((1, {0, 2}), (1, {0, 2}), (0, {2}), (0, {2})):
        users.discard(NAME, user(gone))
        assert sorted(users.of(NAME)) == [user(it) for it in sorted(left)]
        assert NAME in users
    users.discard(NAME, user(2))
    assert NAME not in users
    assert not tuple(users.of(NAME))


def test_names_are_told_apart() -> None:
    users = UsersByName()
    users.add(NAME, user(0))
    users.add(NAME, user(0))
    other = Name(CLUSTER, "b")
    assert other not in users
    users.discard(other, user(0))
    assert tuple(users.of(NAME)) == (user(0),)
