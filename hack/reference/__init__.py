"""The pages of docs/reference, which `hack/generate` writes from the models and the commands."""

from hack.reference import commands, conditions, fields


def files() -> dict[str, str]:
    """The texts of the pages, by their names in docs/reference."""
    return {
        **fields.files(),
        "conditions.md": conditions.page(),
        "commands.md": commands.page(),
    }
