"""The tutorials and how-to guides, followed as a reader follows them."""
