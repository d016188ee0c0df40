"""What machines read: the same in both formats; and tables, which fold and never cut."""

import json
import subprocess

import click
import pytest
import yaml
from click.testing import CliRunner

from contour.cli import main, output
from tests.testbed.processes import CONTOUR, ROOT

MANIFEST = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: good}
spec:
  virtualhost: {fqdn: good.example.com}
  routes:
  - directResponsePolicy: {statusCode: 200}
"""


@pytest.mark.parametrize("to", [["xds", "--raw"], ["routes"], ["dag"], ["fleets"]])
def test_yaml_says_what_json_says(to: list[str]) -> None:
    told = {}
    for format_ in ("yaml", "json"):
        result = CliRunner().invoke(
            main, ["translate", "-f", "-", "--to", *to, "-o", format_], input=MANIFEST
        )
        assert result.exit_code == 0, result.output
        told[format_] = result.stdout
    assert yaml.load(told["yaml"], yaml.CSafeLoader) == json.loads(told["json"])


LONG = "Reason/VeryLongReasonThatNobodyCanFold: " + "words " * 30


@pytest.mark.parametrize("width", [None, 0, 40, 60, 80, 120])
def test_tables_fold_and_lose_nothing(width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def show() -> None:
        output.table(
            ("Kind", "Object", "Why"), [(("HTTPProxy", ""), ("team-b/cart", ""), (LONG, "red"))]
        )

    monkeypatch.delenv("COLUMNS", raising=False)
    result = CliRunner(env={"COLUMNS": None if width is None else str(width)}).invoke(show)
    lines = result.stdout.splitlines()
    assert all(it == it.rstrip() for it in lines)
    assert max(map(len, lines)) <= (width or 1000)
    shown = "".join(result.stdout.split())
    for text in ("HTTPProxy", "team-b/cart", "".join(LONG.split()) if width != 120 else "words"):
        assert text in shown


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    shown = " ".join(CliRunner().invoke(main, ["--help"]).stdout.split())
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        first = (command.help or "").split("\n\n")[0].replace("\n", " ").split(". ")[0]
        assert f"{name} {first.rstrip('.')}." in shown


@pytest.mark.parametrize("command", [["version"], ["--help"], ["status", "-f", "-"]])
@pytest.mark.parametrize(
    ("to", "code", "said"),
    [
        (">&-", 0, ""),
        ("> /dev/full", 2, "Error: the output: No space left on device\n"),
    ],
)
def test_output_that_goes_nowhere_ends_without_a_traceback(
    command: list[str], to: str, code: int, said: str
) -> None:
    line = ["sh", "-c", f'exec "$@" {to}', "sh", *CONTOUR, *command]
    found = subprocess.run(
        line, input=MANIFEST, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (code, said)


HOSTILE = """
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop}
spec:
  virtualhost: {fqdn: shop.example.com}
  includes: [{name: "cart\\u001b[2J\\u202e"}]
"""


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["status", "-"], r"cart\x1b[2J\u202e not found"),
        (["analyze", "-"], r"cart\x1b[2J\u202e not found"),
        (["analyze", "-o", "github", "-"], r"cart\x1b[2J\u202e not found"),
        (["explain", "-f", "-", "http://shop.example.com/"], r"cart\x1b[2J\u202e not found"),
        (["status", "-o", "json", "-"], r"cart\u001b[2J\u202e not found"),
    ],
)
def test_what_tenants_wrote_does_not_control_the_terminal(arguments: list[str], shown: str) -> None:
    result = CliRunner().invoke(main, arguments, input=HOSTILE, color=True)
    assert shown in result.output, result.output
    assert "\x1b[2J" not in result.output
    assert "\u202e" not in result.output
