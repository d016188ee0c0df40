"""Texts as values of options that are checked and stay as they are."""

import click


class Text(click.ParamType[str]):
    """A text that can be printed and sent: UTF-8, which names of files need not be. A kind of text
    says in `refusal` what else is required."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The same text. A shell that completes a command only needs its options, so nothing is
        checked then, and nothing imported to check it."""
        if ctx is not None and ctx.resilient_parsing:
            return value
        if why := self.refusal(value):
            self.fail(why, param, ctx)
        return value

    def refusal(self, text: str) -> str:
        """Why the text is refused; empty if it is taken."""
        try:
            text.encode()
        except UnicodeEncodeError:
            return "it is not UTF-8"
        return ""
