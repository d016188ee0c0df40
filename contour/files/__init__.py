"""The file provider: manifests in files and folders become events for the graph.

`Manifests` reads and watches. A file is cut into `documents`, each is `parse`d, its `contents` are
objects and problems, `store` knows which document owns an object and what has changed; `listing`,
`inotify` and `schedule` know when to read which file again.
"""

from contour.files.manifests import Manifests, UnreadableInput

__all__ = ["Manifests", "UnreadableInput"]
