"""Providers of tokens are added while another tenant's server of keys is down: nobody notices."""

import contextlib
from pathlib import Path

import pytest

from tests.e2e import providers
from tests.e2e.standalone import exchange

pytestmark = pytest.mark.envoy

ADDED, REQUESTS = 3, 10


def test_no_token_is_refused_and_no_listener_drained(tmp_path: Path) -> None:
    host, other = providers.HOSTS
    token = providers.bearer()
    with (
        providers.serving(tmp_path, ADDED) as it,
        contextlib.closing(it.connection("http", host)) as connection,
    ):
        before = providers.listeners(it)
        statuses = set[int]()
        for number in range(ADDED):
            providers.add(it, number)
            for _ in range(REQUESTS):
                statuses.add(exchange(connection, host, "/", headers=token).status)
                statuses.add(exchange(connection, other, "/", headers=token).status)
            providers.until_served(it, number)
        assert exchange(connection, host, "/").status == 401
        assert statuses == {200}
        assert providers.listeners(it) == before != {}
        assert it.ask("http://down.example.com/", headers=token).status == 500
