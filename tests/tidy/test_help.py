"""`--help` is for people: each option says what it does, and what holds without it."""

from collections.abc import Iterator

import click
import pytest

from contour.cli import main as contour
from contour_operator.cli import main as operator

FEWEST_WORDS = 4


def commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """Every command below a group, with its path, as users type it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        yield " ".join((*path, name)), command


COMMANDS = dict([*commands(contour, ("contour",)), *commands(operator, ("contour-operator",))])
OPTIONS = [
    pytest.param(command, option, id=f"{path} {option.opts[-1]}")
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.hidden
]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_command_says_what_it_does_in_a_sentence(command: click.Command) -> None:
    said = (command.help or "").split("\n\n")[0]
    assert len(said.split()) >= FEWEST_WORDS
    assert said.endswith(".")


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_says_what_it_does_and_its_default(
    command: click.Command, option: click.Option
) -> None:
    said = option.help or ""
    assert len(said.split()) >= FEWEST_WORDS
    assert said[0].isupper(), said
    assert said.endswith("."), said
    record = option.get_help_record(click.Context(command, **command.context_settings))
    assert record is not None
    assert option.is_flag or option.required or "[default: " in record[1]
