"""Values at random: whatever stands in a resource is an error with a path, or can be read again."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from contour.envoy.parsing import parsed
from contour.xds.resources import LISTENER
from crds.envoyconfig import canonical
from tests.contour.rawconfig.documents import HCM
from tests.contour.rawconfig.test_reading_again import Value, listener

PREFIX = "type.googleapis.com/"
TYPES = (
    *("", "Any", "Duration", "Empty", "Int64Value", "ListValue", "StringValue", "Struct", "Value"),
    *("DescriptorProto", "FieldMask", "NullValue", "Timestamp"),
)
PLAIN: tuple[object, ...] = (
    *(None, True, 0, -1, 1.5, 1e308, 10**400, "", "x", "NaN", "1s", "999999999999s", "\0", "====="),
    *([], [[]], ["a", None], {}, {"@type": ""}, {"@type": 5}, {"@type": {}}, {"@type": HCM}),
    *({"@type": f"{PREFIX}acme.Filter", "a": [1]}, {"fields": {"a": 1}}),
)
NAMES = ("name", "@type", "value", "typed_config", "typedConfig", "metadata", "routes", "x", "")


def _odd(chance: Random) -> object:
    match chance.randrange(4):
        case 0:
            return {"@type": f"{PREFIX}google.protobuf.{chance.choice(TYPES)}"}
        case 1:
            kind = f"{PREFIX}google.protobuf.{chance.choice(TYPES)}"
            return {"@type": kind, "value": copy.deepcopy(chance.choice(PLAIN))}
        case 2:
            inner: object = copy.deepcopy(chance.choice(PLAIN))
            name = chance.choice(("a", "value", "typed_config", "metadata"))
            for _ in range(chance.randrange(90)):
                inner = {name: inner} if chance.random() < 0.7 else [inner]
            return {"filter_metadata": {"x": inner}} if chance.random() < 0.5 else inner
        case _:
            return copy.deepcopy(chance.choice(PLAIN))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All containers below a value, each with its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _spoil(value: Value, chance: Random) -> None:
    inside, key = chance.choice(list(_places(value)))
    if isinstance(inside, dict) and chance.random() < 0.4:
        inside[chance.choice(NAMES)] = _odd(chance)
    else:
        inside[key] = _odd(chance)


@pytest.mark.parametrize("seed", range(300))
def test_whatever_a_value_holds_it_is_refused_or_can_be_read_again(seed: int) -> None:
    chance, value = Random(seed), listener(2)
    for _ in range(chance.randint(1, 3)):
        _spoil(value, chance)
    made, found = parsed(LISTENER, json.loads(canonical(value)), "")
    assert (made is None) == bool(found.errors)
    if made is not None:
        assert type(made).FromString(made.SerializeToString()) == made
