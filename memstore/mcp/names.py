"""What a client may call a document: a path within the store, or a URI that names one. Pure."""

from __future__ import annotations

from urllib.parse import quote, unquote

from memstore.core.model import INDEX_NAME
from memstore.core.names import EXTENSION, check_path, file_name
from memstore.errors import NameRefused

SCHEME = "memory://"


def document(given: str) -> str:
    """The path that is meant. Raises NameRefused for what leads out of the store, hides, or is the index."""
    if any(part.lower().endswith(EXTENSION) for part in given.split("/")[:-1]):
        raise NameRefused(given, "a directory cannot have the name of a document")
    try:
        return check_path(given)
    except NameRefused:
        if given.lower().endswith(EXTENSION) or "/" in given:
            raise
    file_name(given)  # an ending makes nothing safe that is refused without it
    return check_path(given + EXTENSION)


def is_index(given: str) -> bool:
    """Whether the index is meant."""
    return given == INDEX_NAME


def uri_of(store: str, path: str) -> str:
    """The URI of a document."""
    return f"{SCHEME}{store}/{quote(path)}"


def of_uri(uri: str) -> tuple[str, str]:
    """(store, path) that a URI names. Raises NameRefused for another kind of URI; the path is not checked here."""
    store, separator, path = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not separator or not path:
        raise NameRefused(uri, "it is not the URI of a document", hint=f"such a URI is {SCHEME}project/NAME.md")
    return store, unquote(path)
