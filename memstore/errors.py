"""Every error that memstore raises.

MemstoreError
├── Mendable                     somebody can mend this: says what, why, and the next step
│   ├── InputRefused             a value that was given cannot be used
│   │   ├── NameRefused          ... as the name or path of a memory
│   │   ├── SettingRefused       ... as a setting
│   │   │   └── ExtraMissing     ... as it needs an optional extra that is not installed, or not as it should be
│   │   └── ImportRefused        ... as a directory or file to import
│   ├── NotFound                 no such memory, version, operation or conflict
│   ├── Conflict                 two writes for one place; nothing was written
│   │   ├── StaleVersion         the memory moved on since the version that the write names
│   │   ├── AlreadyExists        an existing memory is not overwritten without its token
│   │   ├── NameTaken            another memory has this name already
│   │   ├── OperationReused      an operation id was used before, for something else
│   │   ├── LeaseHeld            somebody else does this work now
│   │   ├── LeaseLost            the work was called off, or somebody else has taken it over
│   │   └── ClientDreams         the client's own dream is going on
│   ├── PlaceRefused             this folder or repository cannot be used (yet)
│   │   ├── FolderTaken          another store projects into the folder
│   │   ├── NotTrusted           a value that came with the repository awaits a person's consent
│   │   ├── Moved                the repository moved; its store awaits `memstore link`
│   │   └── NotProjected         one file could not be written; the store has its text
│   ├── StoreUnavailable         the database cannot be used now
│   │   ├── StoreBusy            another process kept the write lock too long
│   │   ├── StoreReadOnly        no permission, or a read-only file system
│   │   ├── DiskFull
│   │   ├── GroundRefused        a file system on which a database breaks
│   │   ├── StoreReplaced        another file lies in its place since it was opened: open it again
│   │   ├── StoreDamaged         not a database, or a damaged one; it is left as it is
│   │   ├── StoreNewer           written by a newer memstore; left as it is
│   │   └── EngineTooOld         the SQLite library has a known defect, or the platform is not supported
│   └── ModelError               no model answers
│       ├── ModelUnset           neither a key nor a token is set
│       ├── ModelUnauthorized    the key or token is refused, or may not do this
│       ├── ModelNotFound        there is no model of that name
│       ├── ModelDeclined        the API does not take the request as it is
│       │   └── ModelFull        ... as it is larger than the model takes
│       ├── ModelBusy            over a limit, overloaded or out of order
│       ├── ModelUnreachable     no connection, a connection that broke off, or no Messages API at that address
│       └── ModelAnswer          what came back is no answer of the Messages API
└── Defect                       memstore's own fault: please report it
"""

from __future__ import annotations


class MemstoreError(Exception):
    """The root. `str(error)` is one sentence for a person; `hint` is the next step, or empty."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Mendable(MemstoreError):
    """Somebody can mend this."""


class InputRefused(Mendable):
    """A value that was given cannot be used."""


class NameRefused(InputRefused):
    """The name cannot become a file name inside the memory folder."""

    def __init__(self, name: str, reason: str, *, hint: str = "choose another name") -> None:
        super().__init__(f"the name {name[:80]!r} cannot be used: {reason}", hint=hint)
        self.name = name
        self.reason = reason


class SettingRefused(InputRefused):
    """A setting has a value that cannot be used."""


class ExtraMissing(SettingRefused):
    """A setting needs an optional extra that is not installed, or not as it should be."""


class ImportRefused(InputRefused):
    """Nothing can be imported from there."""


class NotFound(Mendable):
    """There is no such memory, version, operation or conflict."""


class Conflict(Mendable):
    """Two writes for one place. Nothing was written."""


class StaleVersion(Conflict):
    """The memory moved on since the version that the write names, and the texts do not merge."""

    def __init__(self, name: str, expected: str, current: str, current_text: bytes, given_text: bytes) -> None:
        super().__init__(
            f"{name} has changed: the write expects version {expected}, the current one is {current}",
            hint=f"read it again (memstore show {name}) and repeat the write with --expect {current}",
        )
        self.name = name
        self.expected = expected
        self.current = current
        self.current_text = current_text
        self.given_text = given_text


class AlreadyExists(Conflict):
    """An existing memory is not overwritten without its token."""

    def __init__(self, name: str, current: str) -> None:
        super().__init__(
            f"{name} exists already (version {current}); it is not overwritten without its token",
            hint=f"repeat with --expect {current} to replace it, or use `memstore append {name}`",
        )
        self.name = name
        self.current = current


class NameTaken(Conflict):
    """Another memory has this name already."""

    def __init__(self, name: str, holder: str) -> None:
        super().__init__(f"the name {name} belongs to the memory {holder} already", hint="choose another name")
        self.name = name
        self.holder = holder


class OperationReused(Conflict):
    """An operation id was used before, for something else."""

    def __init__(self, operation: str) -> None:
        super().__init__(
            f"the operation id {operation} was used before for another change",
            hint="leave the id out, or give every change an id of its own",
        )
        self.operation = operation


class LeaseHeld(Conflict):
    """Somebody else does this work now. `pid`: who; `seconds`: for how long."""

    def __init__(self, kind: str, pid: int, seconds: int) -> None:
        super().__init__(
            f"a {kind} is going on already (process {pid}, for {max(0, seconds)} s)",
            hint=f"`memstore {kind} status` shows it, `memstore {kind} cancel` ends it",
        )
        self.kind = kind
        self.pid = pid
        self.seconds = seconds


class LeaseLost(Conflict):
    """The work was called off, or somebody else has taken it over. Nothing of it was kept."""

    def __init__(self, kind: str, *, called_off: bool = False) -> None:
        reason = "was called off" if called_off else "is not this process's any more: it did not answer for too long"
        super().__init__(f"the {kind} {reason}; nothing was changed", hint="" if called_off else "start it again")
        self.kind = kind
        self.called_off = called_off


class ClientDreams(Conflict):
    """The client's own dream is going on in the same folder. `pid`: who; 0: not known."""

    def __init__(self, folder: str, pid: int = 0) -> None:
        who = f" (process {pid})" if pid else ""
        super().__init__(
            f"the client's own dream is going on{who} in {folder}",
            hint="try again when it is done; its lock lasts for an hour at most",
        )
        self.folder = folder
        self.pid = pid


class PlaceRefused(Mendable):
    """This folder or repository cannot be used (yet)."""


class FolderTaken(PlaceRefused):
    """Another store projects into the folder."""

    def __init__(self, folder: str, owner: str, wanted_by: str) -> None:
        if owner == wanted_by:
            message = f"the memory folder {folder} belongs to another store of {owner}, which may lie in another home"
            hint = "set MEMSTORE_HOME as it was then; or give the folder to this store: `memstore link --new`"
        else:
            message = f"the memory folder {folder} belongs to {owner}; {wanted_by} has its slug and may not write there"
            hint = "give one of them its own folder with the setting autoMemoryDirectory"
        super().__init__(message, hint=hint)
        self.folder = folder
        self.owner = owner
        self.wanted_by = wanted_by


class NotTrusted(PlaceRefused):
    """A value that came with the repository awaits a person's consent."""


class Moved(PlaceRefused):
    """The repository moved. Its store is known and awaits `memstore link`."""

    def __init__(self, root: str, old_root: str, store: str) -> None:
        super().__init__(
            f"{root} was known as {old_root}; its memories are in store {store}",
            hint="run `memstore link` here to take them along, or `memstore link --new` to start afresh",
        )
        self.root = root
        self.old_root = old_root
        self.store = store


class NotProjected(PlaceRefused):
    """One file could not be written. The store has the text, and the next sync tries again."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is saved, but not projected: {reason}", hint="mend that, then run `memstore sync`")
        self.path = path
        self.reason = reason


class StoreUnavailable(Mendable):
    """The database cannot be used now."""


class StoreBusy(StoreUnavailable):
    """Another process kept the write lock too long."""


class StoreReadOnly(StoreUnavailable):
    """The store cannot be written: no permission, or a read-only file system."""


class DiskFull(StoreUnavailable):
    """The disk is full. Earlier data is intact."""


class GroundRefused(StoreUnavailable):
    """A database breaks on this file system. Nothing was opened."""

    def __init__(self, directory: str, kind: str, point: str, source: str) -> None:
        super().__init__(
            f"the store {directory} lies on {kind} ({source}, mounted at {point}), which is not a disk of this machine"
            " alone: a database breaks there; nothing was opened",
            hint="end all sessions, move the home of the stores to a local disk (`mv`), and set MEMSTORE_HOME to its"
            " new place; what hooks see until then waits in the home's spool",
        )
        self.directory = directory
        self.kind = kind
        self.point = point
        self.source = source


class StoreReplaced(StoreUnavailable):
    """Another file lies in the database's place since it was opened, as after a restore. Opening it again helps."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the store {path} was replaced while it was open", hint="open it again")


TO_MEND_A_STORE = "run `memstore restore-backup latest`, or without a backup `memstore rebuild`"
"""The next step where a database is damaged: a person's, for both give the file another name or other rows."""


class StoreDamaged(StoreUnavailable):
    """Not a database, or a damaged one. It is left exactly as it is."""


class StoreNewer(StoreUnavailable):
    """The store was written by a newer memstore. It is left exactly as it is."""


class EngineTooOld(StoreUnavailable):
    """The SQLite library has a known defect, or the platform is not supported."""


class ModelError(Mendable):
    """No model answers. `passing`: it may pass by itself, and the same request is worth another try later.

    Neither message nor fields hold a key, a token or a password.
    """

    passing = False

    def __init__(self, message: str, *, hint: str = "", passing: bool | None = None) -> None:
        super().__init__(message, hint=hint)
        if passing is not None:
            self.passing = passing


class ModelUnset(ModelError):
    """Neither a key nor a token for a model is set."""


class ModelUnauthorized(ModelError):
    """The credential is refused, or may not do this. `sent` says which it was."""

    def __init__(self, message: str, sent: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.sent = sent


class ModelNotFound(ModelError):
    """There is no model of that name."""

    def __init__(self, message: str, model: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.model = model


class ModelDeclined(ModelError):
    """The API does not take the request as it is: too large, unpaid, or not as it wants it."""


class ModelFull(ModelDeclined):
    """The request is larger than the model takes: a smaller one may pass."""


class ModelBusy(ModelError):
    """Over a limit, overloaded or out of order. `wait`: seconds after which the API wants to be asked again."""

    passing = True

    def __init__(self, message: str, *, wait: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.wait = wait


class ModelUnreachable(ModelError):
    """There is no connection, it broke off in the middle of an answer, or no Messages API is at that address."""

    passing = True


class ModelAnswer(ModelError):
    """What came back is no answer of the Messages API."""


class Defect(MemstoreError):
    """memstore's own fault."""
