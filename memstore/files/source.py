"""A directory of memories as it was read, to be imported: nothing in it is ever written."""

from __future__ import annotations

from memstore.core.model import INDEX_NAME
from memstore.core.names import check_path
from memstore.errors import ImportRefused, NameRefused, PlaceRefused
from memstore.files.folder import Folder
from memstore.files.report import Progress
from memstore.files.scan import Scan
from memstore.files.walk import Strange
from memstore.world import World


def ancestry(path: str) -> str:
    """The name under which the store remembers what it has in common with a directory that it is not shown in."""
    return f"import:{path}"


class Source:
    """`files`: what may be taken in, by path; `skipped`: (path, reason) of the rest. Raises ImportRefused."""

    def __init__(self, directory: str, world: World, progress: Progress | None) -> None:
        self.files: dict[str, bytes] = {}
        self.skipped: list[tuple[str, str]] = []
        try:
            folder = Folder.open(directory, now=lambda: world.clock() * 1_000)
        except PlaceRefused as error:
            raise ImportRefused(str(error), hint=error.hint) from error
        if folder is None:
            raise ImportRefused(
                f"there is no directory {directory}", hint="give the directory that holds the .md files"
            )
        with folder:
            self.path = folder.path
            found = folder.scan()
            closed = [name for name, reason in found.strange.items() if not name.endswith(".md")]
            if not found.complete and not closed:
                raise ImportRefused(f"{directory} cannot be read whole", hint="mend its permissions")
            self._skip(found)
            left = {name for name, _ in self.skipped}
            for done, name in enumerate(sorted(found.files)):
                if progress is not None:
                    progress(done, len(found.files), name)
                if name not in left:
                    self._read(folder, name)

    def _skip(self, found: Scan) -> None:
        self.skipped += sorted(found.strange.items())
        self.skipped += [(name, f"a sync program's copy of {of}") for name, of in found.conflict_copies]
        self.skipped += [(name, "another program's temporary or conflict copy") for name in found.debris]
        self.skipped += [(name, "what memstore was writing when it was stopped") for name in found.temporary]
        for first, *others in found.collisions:
            self.skipped += [
                (name, f"it differs from {first} by case or composition only; rename it") for name in others
            ]
        for name in found.foreign:
            directory = name.endswith("/")
            self.skipped.append((name, "a directory that holds no memories" if directory else "not a Markdown file"))

    def _read(self, folder: Folder, name: str) -> None:
        try:
            if name != INDEX_NAME:
                check_path(name)
        except NameRefused as error:
            self.skipped.append((name, error.reason))
            return
        read = folder.read(name)
        if read is None or isinstance(read, Strange):
            self.skipped.append((name, "it vanished" if read is None else read.reason))
        elif not read.content.strip():
            self.skipped.append((name, "it is empty"))
        else:
            self.files[name] = read.content
