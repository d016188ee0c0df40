"""`contour completion`: the script with which a shell completes commands and options."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Prints the script by which a shell completes commands and options.

    For bash, add `source <(contour completion bash)` to ~/.bashrc. For zsh, add
    `source <(contour completion zsh)` to ~/.zshrc. For fish, write the output of `contour
    completion fish` to ~/.config/fish/completions/contour.fish.
    """
    from contour.cli import main

    found = get_completion_class(shell)
    assert found is not None  # click knows these three
    click.echo(found(main, {}, "contour", "_CONTOUR_COMPLETE").source())
