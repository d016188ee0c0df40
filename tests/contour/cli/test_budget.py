"""What a command does not use it does not import: `--help` and Tab cost what click costs."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import click
import pytest

from contour.cli import main
from dag.fleetnames import DEFAULT_FLEET

HEAVY = {"aiohttp", "asyncio", "crds.meta", "cryptography", "dag", "google", "grpc", "jinja2",
         "kubernetes", "pydantic", "rich", "ssl", "yaml"}  # fmt: skip
USED = {
    "status": {"ssl"},
    "config": {"ssl"},
    "explain": {"ssl"},
    "analyze": {"ssl"},
    "diff": {"ssl"},
}
"""By http.client."""

TABS = [
    "", "ser", "run --", "run --state-dir ", "run --controller-name a.com/b --", "serve --contour",
    "status -o ", "translate --to r", "bootstrap --fl", "manifests --", "certgen --", "envoy ",
    "envoy shutdown --", "completion ",
]  # fmt: skip

_CALL = """
import sys
from contour.cli import main
try:
    main(sys.argv[1:], prog_name="contour")
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""

_BARE = """
import click
@click.group()
def main(): pass
@main.command()
@click.option("--name", help="A name.")
def run(name): pass
main()
"""


def _imported(arguments: list[str], environment: dict[str, str]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _CALL, *arguments],
        capture_output=True, text=True, check=True, env={**os.environ, **environment},
    )  # fmt: skip
    return set(done.stderr.splitlines()[-1].split())


COMMANDS = ["", *main.list_commands(click.Context(main))]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_nothing_that_does_the_work(command: str) -> None:
    assert not HEAVY & _imported([*command.split(), "--help"], {}) - USED.get(command, set())


@pytest.mark.parametrize("typed", TABS)
def test_tab_imports_nothing_that_does_the_work(typed: str) -> None:
    words = ["contour", *typed.split(" ")]
    pressed = {
        "_CONTOUR_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    imported = _imported([], pressed)
    assert "click.shell_completion" in imported
    assert not HEAVY & imported - {"ssl"}


def test_a_question_to_a_running_instance_imports_no_graph(tmp_path: Path) -> None:
    asked = _imported(["status", "--state-dir", str(tmp_path)], {})
    assert "http.client" in asked
    assert not HEAVY & asked - {"ssl"}


def test_the_bootstrap_of_an_envoy_imports_no_graph(tmp_path: Path) -> None:
    # It runs before the Envoy of each pod.
    imported = _imported(["bootstrap", str(tmp_path / "envoy.json")], {})
    assert "contour.bootstrap" in imported
    graph = {it for it in imported if it.startswith(("dag.", "crds."))}
    assert graph <= {"dag.fleetnames", "dag.values", "dag.values.hostnames", "crds.ipaddresses"}


def test_a_start_imports_nothing_for_what_few_ask_for() -> None:
    program = "import sys, contour.run; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"jinja2", "jsonpath", "kubernetes", "redis"} & set(done.stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["run", "--help"], ["serve", "--help"], ["status", "--state-dir", "."]],
)
def test_it_costs_at_most_three_times_the_cpu_of_a_bare_click_program(arguments: list[str]) -> None:
    ratios = [_cpu([_CALL, *arguments]) / _cpu([_BARE, "--help"]) for _ in range(7)]
    assert median(ratios) <= 3, ratios


def _cpu(program: list[str]) -> float:
    """Seconds of CPU that a program takes, without those of others."""
    found = subprocess.Popen(
        [sys.executable, "-c", *program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(found.pid, 0)
    found.returncode = 0
    return usage.ru_utime + usage.ru_stime


def test_a_default_that_only_the_help_says_is_true() -> None:
    for command in ("bootstrap", "translate"):
        found = main.get_command(click.Context(main), command)
        assert found is not None
        (option,) = (it for it in found.params if it.name == "fleet")
        assert vars(option)["show_default"] == DEFAULT_FLEET
