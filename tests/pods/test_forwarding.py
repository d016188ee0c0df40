"""Ports of pods through the API server, by the project's own client."""

import asyncio
import http.client
import json

import pytest

from contour.inspection import connections
from kube import errors, portforward
from tests.cluster.cluster import Cluster
from tests.pods import runner, written

PORT = 8080


@pytest.fixture(scope="module")
def pod(pods: runner.Pods) -> tuple[str, str]:
    """A pod with a backend; its namespace and name."""
    space = pods.cluster.namespace()
    container = {"image": "backends", "args": [f"web={PORT}"]}
    pods.cluster.create(written.deployment(space, "web", 1, container))
    (found,) = pods.until_ready(space, "app=web", 1)
    name = found["metadata"]["name"]

    def answers() -> bool:
        try:
            return ask(pods.cluster, space, name, PORT, "/").status == 200
        except errors.RequestError:
            return False

    pods.until_so(answers)
    return space, name


def ask(
    cluster: Cluster, space: str, name: str, port: int, path: str, token: str = ""
) -> connections.Reply:
    async def asked() -> connections.Reply:
        config = cluster.kubeconfig(token) if token else None
        async with (
            cluster.client(config) as client,
            portforward.opened(client, space, name, port) as connected,
        ):
            connection = connections.Connection(connected)
            try:
                for _ in range(2):  # the connection stays open
                    reply = await asyncio.to_thread(connection.ask, path)
            except (OSError, http.client.HTTPException):
                return connections.Reply(0, b"")
            return reply

    return asyncio.run(asked())


def test_a_port_is_reached_by_who_may_forward_it(pods: runner.Pods, pod: tuple[str, str]) -> None:
    rule = {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["create", "get"]}
    token = pods.cluster.service_account(pod[0], "may", [rule])
    reply = ask(pods.cluster, *pod, PORT, "/some/path", token)
    assert reply.status == 200
    assert json.loads(reply.body)["path"] == "/some/path"


def test_who_may_not_is_told_so_in_the_words_of_the_api_server(
    pods: runner.Pods, pod: tuple[str, str]
) -> None:
    token = pods.cluster.service_account(pod[0], "may-not")
    with pytest.raises(errors.Refused, match="pods/portforward") as refused:
        ask(pods.cluster, *pod, PORT, "/", token)
    assert refused.value.code == 403


@pytest.mark.parametrize(
    ("name", "port", "told"), [("", 1, "refused"), ("gone", PORT, "not found")]
)
def test_what_cannot_be_reached_is_told(
    pods: runner.Pods, pod: tuple[str, str], name: str, port: int, told: str
) -> None:
    with pytest.raises(errors.RequestError, match=told):
        ask(pods.cluster, pod[0], name or pod[1], port, "/")
