"""Whatever happened to the files, what is told of them is in the end what they hold."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from contour import files
from contour.complaints import ManifestSource
from contour.files import documents, store
from tests.contour.files.written import BROKEN, Follower, broken, following, proxy, stream

FILES = [ManifestSource(name) for name in ("a.yaml", "b.yaml", "c.yaml")]
NAMES = ["one", "two", "three", "four"]
GOOD = {
    proxy(name, f"{fqdn}.example.com"): name for name in NAMES for fqdn in ("red", "green", "blue")
}
BAD = [broken(name) for name in NAMES] + [BROKEN, proxy("one", "3").replace("port", "ports")]

good_documents = st.lists(st.sampled_from(list(GOOD)), max_size=4)
any_documents = st.lists(st.sampled_from([*GOOD, *BAD]), max_size=4)
saves = st.lists(st.tuples(st.sampled_from(FILES), any_documents, st.booleans()), max_size=12)


def write(
    provider: store.Store, told: Follower, file: ManifestSource, written: Sequence[str]
) -> None:
    provider.write(file, documents.texts(stream(*written).encode()))
    take(provider, told)


def release(provider: store.Store, told: Follower, file: ManifestSource) -> None:
    provider.release(file)
    take(provider, told)


def take(provider: store.Store, told: Follower) -> None:
    batch = provider.batch()
    if not batch.is_empty:
        told.take(batch)


def fresh(folder: dict[ManifestSource, list[str]]) -> Follower:
    provider, told = store.Store(), Follower()
    for file, written in folder.items():
        provider.write(file, documents.texts(stream(*written).encode()))
    take(provider, told)
    return told


@settings(max_examples=200, deadline=None)
@given(saves, st.fixed_dictionaries(dict.fromkeys(FILES, good_documents)))
def test_after_any_history_quiet_good_files_are_told_as_if_read_afresh(
    history: list[tuple[ManifestSource, list[str], bool]], end: dict[ManifestSource, list[str]]
) -> None:
    provider, told = store.Store(), Follower()
    for file, written, is_quiet in history:
        write(provider, told, file, written)
        if is_quiet:
            release(provider, told, file)
    for file, written in end.items():
        write(provider, told, file, written)
    for file in end:
        release(provider, told, file)
    expected = fresh(end)
    assert told.fqdns == expected.fqdns
    assert told.complaints == expected.complaints


@settings(max_examples=200, deadline=None)
@given(saves)
def test_no_object_is_ever_gone_while_a_document_defines_it_or_might(
    history: list[tuple[ManifestSource, list[str], bool]],
) -> None:
    provider, told = store.Store(), Follower()
    folder: dict[ManifestSource, list[str]] = {}
    for file, written, is_quiet in history:
        folder[file] = written
        before = len(told.gone)
        write(provider, told, file, written)
        assert len(told.gone) == before, "a write takes nothing away"
        if is_quiet:
            release(provider, told, file)
        defined = {GOOD[it] for them in folder.values() for it in them if it in GOOD}
        assert defined <= told.fqdns.keys()
        assert not defined & set(told.gone[before:])
        if BROKEN in written:
            assert len(told.gone) == before, "nobody knows what the broken document is"


async def test_after_random_edits_of_a_real_folder_what_is_told_is_what_is_there(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)
    async with following(tmp_path) as follower:
        for step in range(150):
            edit(tmp_path, chance)
            if step % 10 == 0:
                await asyncio.sleep(0)
        for path in list(tmp_path.rglob("*.yaml")):
            path.write_text(stream(*chance.choices(list(GOOD), k=2)))
        expected = Follower()
        expected.take(files.Manifests([tmp_path]).read())
        await follower.until(
            lambda: (follower.fqdns, follower.complaints) == (expected.fqdns, expected.complaints)
        )


def edit(folder: Path, chance: random.Random) -> None:
    path = folder / chance.choice(["", "deep", "deep/er"]) / f"{chance.choice('abc')}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = stream(*chance.choices([*GOOD, *BAD], k=chance.randrange(4)))
    verb = chance.choice(["write", "write", "replace", "delete", "append", "move"])
    if verb == "write":
        path.write_text(text)
    elif verb == "replace":
        beside = path.with_suffix(".tmp")
        beside.write_text(text)
        beside.replace(path)
    elif verb == "append":
        with open(path, "a") as file:
            file.write("---\n" + text)
    elif verb == "move" and path.exists():
        path.rename(folder / f"moved-{chance.choice('xyz')}.yaml")
    else:
        path.unlink(missing_ok=True)
