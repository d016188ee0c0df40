"""The command line of `hack/demo`: `python -m hack.demonstration [--keep]`."""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from hack.demonstration.instance import EndedError, Instance
from hack.demonstration.requests import Client
from hack.demonstration.story import Story
from tests.testbed.ports import free_ports


@click.command()
@click.option(
    "--keep", is_flag=True, help="Leave the instance running at the end, and print how to stop it."
)
def main(keep: bool) -> None:
    """Demonstrates the quickstart with a real Envoy; exits with 1 if an answer is wrong."""
    console = Console(highlight=False, soft_wrap=True)
    folder = Path(tempfile.mkdtemp(prefix="contour-demo-"))
    instance = Instance(folder, *free_ports(2))
    is_kept = False
    try:
        wrong = asyncio.run(_tell(instance, console))
        is_kept = keep
    except EndedError as error:
        raise click.ClickException(f"contour run ended:\n{error}") from error
    finally:
        if not is_kept:
            instance.stop()
            shutil.rmtree(folder)
    if keep:
        _explain(instance, console)
    verdict = (
        "[green]All answers are as expected.[/]"
        if not wrong
        else f"[red]{wrong} answers are not as expected.[/]"
    )
    console.print(f"\n{verdict}")
    sys.exit(1 if wrong else 0)


async def _tell(instance: Instance, console: Console) -> int:
    console.print(f"[dim]$ contour {' '.join(instance.command)}[/]")
    await instance.start()
    async with Client(instance) as client:
        story = Story(instance, client, console)
        await story.tell()
    return story.wrong


def _explain(instance: Instance, console: Console) -> None:
    copy, process = instance.copy, instance.process
    assert process is not None
    console.print(
        f"\n[bold]The instance is still running.[/] Edit the files in {copy.manifests}, and try:\n"
        f"  curl -H 'Host: shop.example.com' http://127.0.0.1:{instance.http}/cart\n"
        f"  curl --cacert {copy.authority} --connect-to ::127.0.0.1:{instance.https} "
        "https://account.example.com/\n"
        f"  .venv/bin/contour status --state-dir {instance.state}\n"
        f"Stop it with\n  kill {process.pid}; "
        f"while kill -0 {process.pid} 2>/dev/null; do sleep 0.1; done; rm -r {instance.folder}"
    )


main()
