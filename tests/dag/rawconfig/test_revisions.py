"""Which revision is served, after which history: tables, and random histories."""

import os
from collections.abc import Callable
from random import Random

import pytest

from crds.discovery import DiscoverySettings
from dag.rawconfig.content import Remark
from dag.rawconfig.revisions import MOST_REVISIONS
from tests.dag.rawconfig.stage import Stage, endpoints, item, missing_secret

Step = Callable[[Stage], None]


def write(version: str) -> Step:
    return lambda stage: stage.write(version)


def refuse(version: str, *words: str, of: int = 1) -> Step:
    return lambda stage: stage.hear(version, *(words or ("no good",)), of=of)


def take(version: str) -> Step:
    return lambda stage: stage.take(version)


def drop(version: str) -> Step:
    return lambda stage: stage.remove_revision(version)


def invalid(version: str) -> Step:
    return lambda stage: stage.write(version, errors=[Remark("spec", "is wrong")])


def wait_for_secret(version: str) -> Step:
    return lambda stage: stage.write(version, items=[item(version), missing_secret()])


restart: Step = Stage.forget
BIND = "cannot bind '0.0.0.0:80'"


@pytest.mark.parametrize(
    ("words", "of", "served"),
    [
        (("no good",), 2, "2 InSync"),
        (("no good", "no good"), 2, "1 Rollback"),
        (("no good", BIND), 2, "1 Rollback"),
    ],
)
def test_all_have_to_refuse_where_the_configuration_says_so(
    words: tuple[str, ...], of: int, served: str
) -> None:
    stage = Stage(DiscoverySettings(taints="All"))
    for step in (write("1"), write("2"), refuse("2", *words, of=of)):
        step(stage)
    assert stage.served() == served


@pytest.mark.parametrize(
    ("steps", "served"),
    [
        ([write("1")], "1 InSync"),
        ([write("1"), write("2")], "2 InSync"),
        ([write("1"), write("2"), refuse("2")], "1 Rollback"),
        ([write("1"), write("2"), refuse("2"), restart], "1 Rollback"),
        ([write("1"), write("2"), refuse("2"), write("3")], "3 InSync"),
        ([write("1"), write("2"), refuse("2"), write("3"), refuse("3")], "1 Rollback"),
        ([write("1"), write("2"), write("1")], "1 InSync"),
        ([write("1"), write("2"), write("1"), refuse("1")], "2 Rollback"),
        ([write("1"), write("2"), refuse("2"), write("1"), write("2")], "1 Rollback"),
        ([write("1"), write("2"), refuse("2"), drop("2")], "2 InSync"),
        ([write("1"), drop("1")], "1 InSync"),
        ([write("1"), refuse("1")], "1 RollbackFailed"),
        ([write("1"), refuse("1"), restart], "1 RollbackFailed"),
        ([write("1"), take("1"), write("2"), refuse("2"), refuse("1")], "1 RollbackFailed"),
        ([write("1"), take("1"), write("2"), refuse("2"), refuse("1"), restart],
         "1 RollbackFailed"),
        ([write("1"), refuse("1"), write("2"), refuse("2")], "2 RollbackFailed"),
        ([write("1"), refuse("1"), write("2")], "2 InSync"),
        ([invalid("1")], "nothing"),
        ([write("1"), invalid("2")], "1 Rollback"),
        ([write("1"), invalid("2"), write("1")], "1 InSync"),
        ([write("1"), write("2"), refuse("2", BIND, of=2)], "2 InSync"),
        ([write("1"), write("2"), refuse("2", BIND, BIND, of=2)], "1 Rollback"),
        ([write("1"), write("2"), refuse("2", BIND, "no good", of=3)], "1 Rollback"),
        ([write("1"), write("2"), take("2"), refuse("2", BIND, of=1)], "2 InSync"),
        ([write("1"), write("2"), take("2"), restart, refuse("2", BIND, of=1)], "2 InSync"),
        ([write("1"), write("2"), take("2"), refuse("2", BIND, "no good", of=2)], "1 Rollback"),
        ([wait_for_secret("1")], "1 InSync"),
        ([write("1"), wait_for_secret("2")], "1 Rollback"),
        ([write("1"), refuse("1"), wait_for_secret("2")], "2 InSync"),
        ([write("1"), wait_for_secret("2"), write("3")], "3 InSync"),
    ],
)  # fmt: skip
def test_what_is_served_after_a_history(steps: list[Step], served: str) -> None:
    stage = Stage()
    for step in steps:
        step(stage)
    assert stage.served() == served


def test_what_was_taken_once_does_not_wait_for_what_is_missing_later() -> None:
    stage = Stage()
    stage.write("1")
    stage.take("1")
    stage.write("2")
    stage.take("2")
    stage.write("2", items=[item("2"), missing_secret()])
    assert stage.served() == "2 InSync"
    told = stage.status()
    assert told is not None
    assert [(it.status, it.reason) for it in told.conditions if it.type == "CacheOutOfSync"] == [
        ("True", "WaitingForReferences")
    ]
    assert told.conditions[1].message.endswith(
        "has no value key (in a cluster, the Secret has to "
        "be of type Opaque); what is missing is left out"
    )


def test_a_rollback_is_another_edition_and_so_is_each_further_taint() -> None:
    stage, seen = Stage(), list[str]()
    for step in (write("1"), write("2"), refuse("2"), write("3"), refuse("3"), write("2")):
        step(stage)
        found = stage.choice()
        assert found is not None
        seen.append(found.edition)
    assert seen[0] == "1"
    assert seen[1] == "2"
    assert len(set(seen)) == len(seen) - 1  # going back to what is tainted changes nothing
    assert seen[-1] == seen[-2]


def test_of_too_many_revisions_the_oldest_go_but_the_one_that_is_served() -> None:
    stage = Stage()
    stage.write("good")
    for number in range(30):
        stage.write(f"bad{number}")
        stage.hear(f"bad{number}", "no good")
    found = stage.choice()
    assert found is not None
    versions = [it.content.version for it in found.revisions]
    assert len(versions) == MOST_REVISIONS
    assert versions[0] == "good"
    assert versions[-1] == "bad29"
    assert stage.served() == "good Rollback"


def test_the_oldest_keeps_a_node_id_and_the_other_takes_over() -> None:
    stage = Stage()
    stage.write("1", name="young", age=1)
    assert stage.served("young") == "1 InSync"
    stage.write("2", name="old", age=9)
    assert (stage.served("young"), stage.served("old")) == ("nothing", "2 InSync")
    told = stage.status("young")
    assert told is not None
    assert [(it.type, it.status, it.reason) for it in told.conditions] == [
        ("Valid", "False", "NodeIDTaken")
    ]
    assert "default/old" in told.conditions[0].message
    stage.delete("old")
    assert stage.served("young") == "1 InSync"


def test_revisions_stay_while_another_has_the_node_id() -> None:
    stage = Stage()
    for version in ("1", "2"):
        stage.write(version, name="young", age=1)
    stage.hear("2", "no good")
    stage.write("3", name="old", age=9)
    assert (stage.served("young"), stage.served("old")) == ("nothing", "3 InSync")
    stage.forget()
    stage.delete("old")
    assert stage.served("young") == "1 Rollback"


def test_another_node_id_begins_another_history() -> None:
    stage = Stage()
    stage.write("1")
    stage.write("2", node="other")
    found = stage.choice()
    assert found is not None
    assert [it.content.version for it in found.revisions] == ["2"]


def test_the_status_has_the_words_of_envoy_and_the_errors() -> None:
    stage = Stage()
    stage.write("1")
    stage.write("2")
    stage.hear("2", "unknown cluster")
    told = stage.status()
    assert told is not None
    assert (told.cache_state, told.published_version, told.desired_version) == (
        "Rollback",
        "1",
        "2",
    )
    assert [it.version for it in told.revisions] == ["1", "2"]
    out = next(it for it in told.conditions if it.type == "CacheOutOfSync")
    assert (out.status, out.reason) == ("True", "CantPublishDesiredVersion")
    assert "unknown cluster" in out.message
    stage.write("3", errors=[Remark("spec.a", "is wrong"), Remark("spec.b", "too")])
    told = stage.status()
    assert told is not None
    assert "spec.a: is wrong; spec.b: too" in told.conditions[0].message


def test_refusals_that_taint_nothing_are_told() -> None:
    stage = Stage()
    stage.write("1")
    stage.hear("1", BIND, of=3)
    told = stage.status()
    assert told is not None
    warnings = [text for it in told.conditions for text in it.warnings]
    assert warnings == [f"1 of 3 Envoys cannot apply it: {BIND}"]


class Model:
    """The rules in the fewest words: a list of revisions, and what has become of them."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.tainted: set[str] = set()
        self.taken: set[str] = set()

    def write(self, version: str) -> None:
        if version in self.order:
            self.order.remove(version)
        self.order.append(version)

    def drop(self, version: str) -> None:
        newest = self.order[-1]
        self.order = [it for it in self.order if it != version]
        self.tainted.discard(version)
        self.taken.discard(version)
        if version == newest:
            self.order.append(version)

    def trim(self) -> None:
        while len(self.order) > MOST_REVISIONS:
            gone = next(it for it in self.order if it not in {self.served, self.fallback})
            self.order.remove(gone)
            self.tainted.discard(gone)
            self.taken.discard(gone)

    @property
    def served(self) -> str:
        return self.best(self.order)

    @property
    def fallback(self) -> str:
        """What is served if the newest is refused."""
        return self.best(self.order[:-1])

    def best(self, order: list[str]) -> str:
        for group in (set(order) - self.tainted, self.taken & set(order)):
            if group:
                return next(it for it in reversed(order) if it in group)
        return order[-1]


@pytest.mark.parametrize("seed", range(int(os.environ.get("RAW_HISTORIES", "300"))))
def test_random_histories_end_as_the_rules_say(seed: int) -> None:
    chance, stage, model = Random(seed), Stage(), Model()
    versions = [f"v{it}" for it in range(14)]
    stage.write("v0")
    model.write("v0")
    for _ in range(chance.randint(1, 40)):
        version = chance.choice(versions)
        match chance.choice(("write", "refuse", "take", "drop", "restart")):
            case "write":
                stage.write(version)
                model.write(version)
            case "refuse":  # only what is served can be refused
                stage.hear(model.served, "no good")
                model.tainted.add(model.served)
            case "take":
                served = model.served
                if served not in model.tainted:
                    stage.take(served)
                    model.taken.add(served)
            case "drop" if version in model.order:
                stage.remove_revision(version)
                model.drop(version)
            case _:
                stage.forget()
        stage.forget()  # what counts is written down
        model.trim()
        found = stage.choice()
        assert found is not None
        assert found.published is not None
        assert [it.content.version for it in found.revisions] == model.order
        assert found.published.version == model.served


@pytest.mark.parametrize(("value", "served"), [(b"secret", "2 InSync"), (b"", "1 Rollback")])
def test_a_value_that_is_empty_or_not_read_is_waited_for(value: bytes, served: str) -> None:
    """In a cluster the name of an entry stays where its value is not read."""
    stage = Stage()
    stage.write("1")
    stage.add_secret("tls", {"key": value})
    stage.write("2", items=[item("2"), missing_secret("tls")])
    assert stage.served() == served


@pytest.mark.parametrize(
    ("port", "addresses", "served", "words"),
    [
        ("http", ["10.0.0.1"], "2 InSync", ""),
        ("http", [], "2 InSync", ""),
        ("", [], "2 InSync", ""),
        ("web", ["10.0.0.1"], "1 Rollback", "no EndpointSlice for app has a port named 'http'"),
        ("http", ["10.0.0.1", "no.example.com"], "2 InSync", "endpoints of app are left out: "
         "'no.example.com' (no IPv4 address)"),
    ],
)  # fmt: skip
def test_endpoints_that_are_not_found_or_left_out_are_told(
    port: str, addresses: list[str], served: str, words: str
) -> None:
    stage = Stage()
    stage.write("1")
    stage.add_slice(port, *addresses)
    stage.write("2", items=[item("2"), endpoints("http")])
    assert stage.served() == served
    told = stage.status()
    assert told is not None
    out = next(it for it in told.conditions if it.type == "CacheOutOfSync")
    assert words in out.message
    assert out.warnings == ((words,) if words and served == "2 InSync" else ())
