"""The rules of `env`, `command` and `args`."""

from typing import Any

import pytest

from tests.pods import environment

POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "namespace": "n",
        "uid": "u",
        "labels": {"a": "b"},
        "annotations": {"c.d/e": "f"},
    },
    "spec": {"nodeName": "node-1", "serviceAccountName": "s"},
    "status": {"podIP": "10.0.0.1", "hostIP": "10.0.0.2"},
}
SECRET = {"kind": "Secret", "data": {"key": "dmFsdWU="}}


def find(kind: str, namespace: str, name: str) -> dict[str, Any] | None:
    return {("Secret", "n", "there"): SECRET}.get((kind, namespace, name))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$(A)-$(B)", "1-$(B)"),
        ("$$(A)", "$(A)"),
        ("$A $", "$A $"),
        ("$(A)$(A)", "11"),
    ],
)
def test_names_in_parentheses_are_replaced(text: str, value: str) -> None:
    assert environment.expanded(text, {"A": "1"}) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.labels['a']", "b"),
        ("metadata.annotations['c.d/e']", "f"),
        ("metadata.annotations['none']", ""),
        ("metadata.labels", 'a="b"'),
        ("spec.nodeName", "node-1"),
        ("status.podIP", "10.0.0.1"),
        ("status.hostIP", "10.0.0.2"),
    ],
)
def test_fields_of_a_pod_are_found(path: str, value: str) -> None:
    assert environment.field(path, POD) == value


def test_later_variables_see_earlier_ones() -> None:
    container = {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(A)"}]}
    found = environment.variables(container, POD, find)
    assert found["B"] == "11"
    assert environment.command({"args": ["--b=$(B)"]}, ["run"], found) == ["run", "--b=11"]
    assert environment.command({"command": ["other"]}, ["run"], found) == ["other"]


def test_a_key_of_a_secret_is_a_value_and_a_missing_one_is_an_error_unless_it_is_optional() -> None:
    def asked(name: str, optional: bool) -> dict[str, str]:
        ref = {"name": name, "key": "key", "optional": optional}
        container = {"env": [{"name": "A", "valueFrom": {"secretKeyRef": ref}}]}
        return environment.variables(container, POD, find)

    assert asked("there", False)["A"] == "value"
    assert "A" not in asked("absent", True)
    with pytest.raises(environment.MissingError, match="Secret absent"):
        asked("absent", False)


@pytest.mark.parametrize(
    ("quantity", "value"),
    [("250m", "1"), ("2", "2"), ("64Mi", str(64 << 20)), ("1G", "1000000000")],
)
def test_limits_are_whole_numbers(quantity: str, value: str) -> None:
    container = {"resources": {"limits": {"it": quantity}}}
    assert environment.resource(container, "limits.it") == value
