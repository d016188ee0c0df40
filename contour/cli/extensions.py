"""Extensions of manifests in offline commands: asked if an address is given, left out otherwise.

An offline command contacts a server only if it is told to. Without an address, the changes of an
extension are missing from the output, and a warning says so; in an instance, hosts would wait for
its answers.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import click

from contour.cli.addresses import site
from contour.controller import Controller
from contour.envoy.hooks.questions import Question, Reply
from contour.events import Batch
from dag import hookservers
from dag.hookservers import Connection


class Addresses(NamedTuple):
    """Where extensions are asked."""

    by_name: Mapping[str, str] = {}
    every: str = ""
    """Where all others are asked; empty: they are not."""

    def of(self, name: str) -> str:
        """The address of an extension; empty if it is not asked."""
        return self.by_name.get(name, self.every)


def addresses(written: tuple[str, ...]) -> Addresses:
    """What the option says: `ADDRESS`, or `NAME=ADDRESS` for one of several extensions."""
    pairs = [it.rpartition("=") for it in written]
    every = [address for name, _, address in pairs if not name]
    if len(every) > 1:
        raise click.UsageError("only one --extension may be without a name (NAME=ADDRESS)")
    named = [name for name, _, _ in pairs if name]
    if len(set(named)) < len(named):
        raise click.UsageError("--extension gives the same name twice")
    for _, _, address in pairs:
        if not address.startswith("unix:/") and site(address) is None:
            raise click.UsageError(f"{address!r} is neither HOST:PORT nor unix:/absolute/path")
    return Addresses({name: address for name, _, address in pairs if name}, "".join(every))


def take(controller: Controller, batch: Batch, asked: Addresses) -> Iterator[str]:
    """Gives manifests to the controller.

    Yields what is left out or fails, a line each. Raises click.UsageError if an extension that is
    to be asked is not registered.
    """
    if asked == Addresses():
        controller.hook_rows.questioner = _Unmodified()
        controller.take(batch)
    else:
        from contour.cli import extensioncalls  # imports gRPC, which other commands do not need

        extensioncalls.take(controller, batch, asked.of)
    names = [it.name for it in controller.engine.ask(hookservers.servers, ())]
    for name in names:
        if not asked.of(name):
            yield (
                f"warning: extension {name} is not asked, so hosts are as they are before it "
                f"(--extension {name}=ADDRESS of `contour translate` asks it)"
            )
        found = controller.engine.row(hookservers.TROUBLES, name) or hookservers.Troubles()
        yield from (f"error: extension {name} {it}" for it in found.errors)
        yield from (f"warning: extension {name}: {it}" for it in found.remarks)
    unknown = sorted(asked.by_name.keys() - set(names))
    if unknown or (asked.every and not names):
        what = " ".join(["extension", *unknown[:1]])
        raise click.UsageError(f"no ContourConfiguration registers an {what} (spec.extensions)")


class _Unmodified:
    """Answers every question at once, without modifications."""

    def want(self, question: Question) -> Reply:
        """Nothing is modified."""
        del question
        return Reply(None)

    def drop(self, question: Question) -> None:
        """Does nothing."""

    def doubt(self, question: Question, *, is_refused: bool) -> None:
        """Does nothing."""

    def connect(self, name: str, found: Connection | None) -> None:
        """Does nothing."""
