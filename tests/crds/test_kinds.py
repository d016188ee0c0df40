"""The table of kinds is right about its own entries."""

import dataclasses

import pytest

from crds.kinds import ASKED_FOR, IN_CLUSTERS, KINDS


def test_a_kind_is_found_by_its_group_and_name() -> None:
    assert all(key == (it.group, it.kind) for key, it in KINDS.items())
    assert KINDS["", "Service"].api_version == "v1"
    assert KINDS["projectcontour.io", "HTTPProxy"].api_version == "projectcontour.io/v1"


def test_a_kind_has_the_model_of_its_name_with_metadata() -> None:
    for it in KINDS.values():
        assert it.model.__name__ == it.kind
        assert dataclasses.fields(it.model)[0].name == "metadata"


def test_no_model_has_a_status_and_all_are_frozen_and_slotted() -> None:
    for it in KINDS.values():
        assert "status" not in {field.name for field in dataclasses.fields(it.model)}
        assert "__slots__" in vars(it.model)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(object.__new__(it.model), "metadata", None)  # noqa: B010 - not every kind's


def test_plurals_and_short_names_are_used_once() -> None:
    names = [name for it in KINDS.values() for name in {it.plural, *it.short_names}]
    assert len(names) == len(set(names))


def test_all_kinds_but_those_of_discovery_are_read_by_every_instance_of_a_cluster() -> None:
    assert {it.kind for it in ASKED_FOR} == {"EnvoyConfig", "EnvoyConfigRevision"}
    assert {*IN_CLUSTERS, *ASKED_FOR} == set(KINDS.values())
