"""A configuration file as the only source of configuration of a process.

At the start the file must be valid, and there must be no ContourConfiguration. Later the last good
version stays in force: errors in a newer one become complaints about the file, and a complaint
about a new ContourConfiguration says that it is not read. The file is checked in intervals, since
it may be mounted from a ConfigMap, where links are exchanged instead of files.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Iterator
from pathlib import Path

from contour.complaints import Complaint, ManifestSource, Severity, Subject
from contour.configfile import reading, translation
from contour.configfile.translation import Command, Translated
from contour.events import Batch, Event
from contour.files import listing
from crds.contourconfiguration import ContourConfiguration
from crds.kinds import CONTOUR, KINDS
from crds.meta import NamespacedName, ObjectRef
from observability import logs

_INTERVAL = 0.5
"""Seconds between two checks of the file."""

_KIND = KINDS[CONTOUR, "ContourConfiguration"]


class UnusableFileError(Exception):
    """A configuration file that a process cannot start with; the text begins with its path."""


def usable(
    path: Path, name: NamespacedName, command: Command
) -> tuple[Translated, tuple[str, ...]]:
    """The settings for the process of a command, and which fields of the file have no effect.
    Raises UnusableFileError."""
    try:
        return _read(path, name, command)
    except (reading.FaultError, OSError) as error:
        raise UnusableFileError(_line(path, error)) from None


def _read(path: Path, name: NamespacedName, command: Command) -> tuple[Translated, tuple[str, ...]]:
    found = reading.read(path)
    return translation.translated(found.written, name, command), found.warnings


class Source:
    """The configuration of one process, from a file."""

    def __init__(self, path: Path, name: NamespacedName, command: Command) -> None:
        """`name`: of the ContourConfiguration that the file replaces. Raises UnusableFileError."""
        self._path = path
        self._place = ManifestSource(str(path))
        self._name = name
        self._command: Command = command
        self._level = logging.getLogger().level
        self._signature = _signature(path)
        self._told: tuple[Complaint, ...] = ()
        self._found, self._warnings = usable(path, name, command)
        self._set_level()

    @property
    def name(self) -> NamespacedName:
        """The name of the ContourConfiguration that the file replaces."""
        return self._name

    @property
    def fixed(self) -> translation.Fixed:
        """The settings of the file that the process cannot change while it runs."""
        return self._found.fixed

    def first(self, batch: Batch) -> Batch:
        """The first batch of the provider, with the configuration of the file. Raises
        UnusableFileError if the batch has another configuration."""
        for it in batch.events:
            if self._is_beside(it) and it.object is not None:
                raise UnusableFileError(
                    f"{self._path}: there is also the ContourConfiguration {it.key}; remove one of "
                    "the two, for a process has one configuration"
                )
        own = self._batch((self._event(),), self._complaints())
        return Batch(
            own.events + batch.events,
            {**batch.complaints, **own.complaints},
            own.fresh + batch.fresh,
            batch.healed,
        )

    def alone(self, batch: Batch) -> Batch:
        """A later batch of the provider, without the ContourConfigurations that are not read."""
        beside = [it for it in batch.events if self._is_beside(it)]
        if not beside:
            return batch
        told: dict[Subject, tuple[Complaint, ...]] = dict(batch.complaints)
        for it in beside:
            subject = _subject(it)
            told[subject] = () if it.object is None else (self._not_read(subject),)
        return batch._replace(
            events=tuple(it for it in batch.events if it not in beside),
            complaints=told,
            fresh=batch.fresh + tuple(one for it in beside for one in told[_subject(it)]),
        )

    async def changes(self) -> AsyncGenerator[Batch, None]:
        """The changes of the file, until it is cancelled."""
        while True:
            await asyncio.sleep(_INTERVAL)
            # In a thread, since a network file system may not answer for long.
            batch = await asyncio.to_thread(self._looked)
            if not batch.is_empty:
                yield batch

    def _looked(self) -> Batch:
        now = _signature(self._path)
        if now == self._signature:
            return Batch((), {})
        self._signature = now
        return self._reloaded()

    def _reloaded(self) -> Batch:
        before = self._found
        try:
            found, self._warnings = _read(self._path, self._name, self._command)
        except (reading.FaultError, OSError) as error:
            if isinstance(error, OSError):
                self._signature = None  # what is there may be readable the next time
            text = f"{_said(error)}; its last good version stays in force"
            return self._batch((), (self._complaint(text, "error", _at(error)),))
        # Settings that cannot change stay, with a warning as long as the file has other values.
        changed = found.fixed != before.fixed
        self._found = Translated(found.configuration, before.fixed, found.log_level)
        self._set_level()
        told = [*self._complaints()]
        if changed:
            text = "provider: takes effect at the next start"
            told.append(self._complaint(text, "warning"))
        events = (self._event(),) if found.configuration != before.configuration else ()
        return self._batch(events, told)

    def _event(self) -> Event:
        return Event(_KIND, self._name, self._found.configuration)

    def _complaints(self) -> Iterator[Complaint]:
        for it in self._warnings:
            yield self._complaint(it, "warning")

    def _batch(self, events: tuple[Event, ...], complaints: Iterable[Complaint]) -> Batch:
        told, before = tuple(complaints), self._told
        self._told = told
        if told == before:
            return Batch(events, {})
        return Batch(events, {self._place: told}, tuple(it for it in told if it not in before))

    def _complaint(self, text: str, severity: Severity, line: int = 0) -> Complaint:
        return Complaint(str(self._path), line, self._place, "", text, severity)

    def _not_read(self, subject: ObjectRef) -> Complaint:
        text = f"is not read, since {self._path} is the configuration"
        return Complaint(str(self._path), 0, subject, "", text, "error")

    def _is_beside(self, event: Event) -> bool:
        """Whether the ContourConfiguration would be read without the file. In a cluster, others
        belong to other instances."""
        is_one = event.kind.model is ContourConfiguration
        return is_one and (self._command == "run" or event.key == self._name)

    def _set_level(self) -> None:
        logs.set_level(self._found.log_level or logging.getLevelName(self._level))


def on_this_machine(path: Path) -> Source:
    """The configuration of `contour run`. Raises UnusableFileError."""
    return Source(path, NamespacedName("default", "envoy-gateway"), "run")


def _subject(event: Event) -> ObjectRef:
    return ObjectRef(event.kind.kind, *event.key)


def _signature(path: Path) -> listing.Signature | None:
    """Equal while the file is the same, with the same permissions; None if it is not there."""
    try:
        return listing.signature(path.stat())
    except OSError:
        return None


def _at(error: reading.FaultError | OSError) -> int:
    return error.line if isinstance(error, reading.FaultError) else 0


def _said(error: reading.FaultError | OSError) -> str:
    if isinstance(error, reading.FaultError):
        return str(error)
    return f"cannot read the file: {error.strerror}"


def _line(path: Path, error: reading.FaultError | OSError) -> str:
    line = _at(error)
    return f"{path}:{line}: {_said(error)}" if line else f"{path}: {_said(error)}"
