"""The file provider: manifests in files and folders become events for the graph.

`Manifests` reads and watches. A file is split into `documents`, each is parsed (`parse`), and its
`contents` are objects and problems. `store` knows which document owns an object and what has
changed; `listing`, `inotify` and `schedule` decide when to read which file again.
"""

from contour.files.manifests import Manifests, UnreadableInput

__all__ = ["Manifests", "UnreadableInput"]
