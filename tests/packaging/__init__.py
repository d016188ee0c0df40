"""What people install: the wheel, by pipx and uvx; the image, by the steps of its recipe."""
