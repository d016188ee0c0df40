"""What the author of an extension is told of answers that are taken."""

from contour.hooks.wire import Hook
from tests.contour.extensioncalls.served import WORLD, add_header, changing, shaped
from tests.testbed.extensionserver import unchanged

STRANGE = b"\xfa\x01\x00"
"""Field 31 of a reply: an empty string of bytes."""


async def _strange(hook: Hook, body: bytes) -> bytes:
    return bytes(await changing(add_header)(hook, body)) + STRANGE


async def test_a_field_of_answers_that_is_ignored_is_a_warning_until_they_are_without() -> None:
    async with shaped(_strange) as of:

        def warned() -> str:
            return of.warned("ContourConfiguration", "projectcontour", "contour")

        await of.until(lambda: "spec.extensions[0]: field 31 of the reply" in warned())
        assert "AnswerNotRead" in warned()
        assert of.is_changed(0), "the answer is taken"
        of.servers[0].script = unchanged
        for number in range(WORLD.hosts):
            of.take(WORLD.root(number, "/new"))
        await of.until(lambda: "field 31" not in warned())
