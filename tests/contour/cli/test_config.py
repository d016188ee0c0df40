"""`contour config`: what a running instance says of its Envoys, as a table and for machines."""

import asyncio
import json
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from contour import rundir
from contour.cli import main
from contour.inspection import server

TYPE = "envoy.config.listener.v3.Listener"
FLEETS = [
    {
        "fleet": "contour",
        "envoys": [
            {
                "id": "one",
                "types": [
                    {
                        "type": TYPE,
                        "versions": {"ingress_http": "abc", "ingress_https": None},
                        "unsent": [],
                        "unanswered": ["ingress_https"],
                        "waiting": {"ingress_https": {"a.test": ["secret/cert"]}},
                        "refused": {"ingress_http": {"b.test": "no such thing [red]"}},
                    }
                ],
            }
        ],
        "quarantine": [
            {"type": TYPE, "name": "ingress_http", "part": "b.test", "refusal": "said above"},
            {"type": TYPE, "name": "tcp_9", "part": "", "refusal": "unable to open file"},
            {"type": "another", "name": "tcp_9", "part": "", "refusal": "of another type"},
        ],
    }
]


def _config(directory: Path, *arguments: str) -> str:
    """Asks an inspection socket that tells of `FLEETS`."""
    found: list[Any] = []

    def ask() -> None:
        command = ["config", "--state-dir", str(directory), *arguments]
        # What runs the tests may have set the width of its own output.
        found.append(CliRunner(env={"COLUMNS": None}).invoke(main, command))

    async def serve() -> None:
        socket = rundir.socket(directory, rundir.INSPECTION)
        async with server.served(socket, {"config": lambda: FLEETS}, {}, {}):
            await asyncio.to_thread(ask)

    thread = Thread(target=asyncio.run, args=[serve()])
    thread.start()
    thread.join()
    assert found[0].exit_code == 0, found[0].output
    return str(found[0].stdout)


def test_the_table_counts_what_is_accepted_and_says_what_is_not(tmp_path: Path) -> None:
    shown = _config(tmp_path)
    assert "1 of 3" in shown
    assert "Listener" in shown
    assert "refuses b.test of ingress_http: no such thing [red]" in shown
    assert "refuses all of tcp_9: unable to open file" in shown
    assert "said above" not in shown
    assert "of another type" not in shown
    assert "a.test of ingress_https waits for secret/cert" in shown


def test_machines_get_all_of_it(tmp_path: Path) -> None:
    assert json.loads(_config(tmp_path, "-o", "json")) == FLEETS


async def test_an_instance_that_fails_to_answer_is_not_taken_for_none(tmp_path: Path) -> None:
    def failing() -> object:
        raise RuntimeError

    path = rundir.socket(tmp_path, rundir.INSPECTION)
    async with server.served(path, {"config": failing}, {}, {}):
        arguments = ["config", "--state-dir", str(tmp_path)]
        result = await asyncio.to_thread(CliRunner().invoke, main, arguments)
    assert (result.exit_code, f"{tmp_path} answered 500" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("config", "that of a running"),
        ("status", "manifests with -f, that of a running"),
        ("explain http://a.example", "manifests with -f, that of a running"),
        ("diff -f -", "manifests with --against, that of a running"),
    ],
)
def test_where_nothing_runs_that_is_told(tmp_path: Path, command: str, named: str) -> None:
    result = CliRunner().invoke(main, [*command.split(), "--state-dir", str(tmp_path)])
    assert result.exit_code == 2
    assert f"no instance runs with the state directory {tmp_path}; name {named}" in result.stderr
