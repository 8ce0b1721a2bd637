"""Values as the JSON objects that `shapes` tells of."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from memstore import errors

if TYPE_CHECKING:
    from memstore.checking import Checked
    from memstore.cli.doctor_model import Answered, Client
    from memstore.core.model import ConflictRecord, Memory, Operation, Version
    from memstore.core.settings import Key, Settings, Value
    from memstore.files.report import Noted, SyncReport
    from memstore.jobs.endpoint import Endpoint

Shape = dict[str, object]

_TOLD = (
    "name", "expected", "current", "holder", "operation", "folder", "owner", "store", "old_root", "model", "sent",
)  # fmt: skip
"""What kinds of errors know besides, by the names of their fields."""


def dumped(shape: Mapping[str, object]) -> str:
    """The object as one line of ASCII."""
    return json.dumps(shape, ensure_ascii=True, separators=(", ", ": "))


def moment_shape(microseconds: int) -> str:
    """A time, in UTC."""
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:06d}Z"


def content_shape(content: bytes) -> Shape:
    """The text of a memory; base64 where it is not UTF-8."""
    try:
        return {"content": content.decode("utf-8"), "encoding": "utf-8"}
    except UnicodeDecodeError:
        from base64 import b64encode

        return {"content": b64encode(content).decode("ascii"), "encoding": "base64"}


def memory_shape(memory: Memory) -> Shape:
    """A memory without its text."""
    state = memory.state
    return {
        "id": memory.id,
        "path": state.path,
        "name": memory.name,
        "description": memory.description,
        "type": memory.type,
        "scope": state.shelf.scope,
        "layer": state.shelf.layer,
        "version": memory.version,
        "token": memory.token,
        "live": state.live,
        "pinned": state.pinned,
        "superseded_by": state.superseded_by,
        "origin": memory.origin,
        "listing": memory.listing,
        "created_at": moment_shape(memory.created_at),
        "changed_at": moment_shape(memory.changed_at),
        "seq": memory.seq,
    }


def version_shape(version: Version) -> Shape:
    """A version without its text."""
    state = version.state
    return {
        "memory": version.memory,
        "version": version.number,
        "token": version.token,
        "parent": version.parent,
        "change": version.change,
        "path": state.path,
        "name": version.name,
        "description": version.description,
        "type": version.type,
        "live": state.live,
        "pinned": state.pinned,
        "origin": version.origin,
        "operation": version.operation,
        "seq": version.seq,
        "at": moment_shape(version.at),
    }


def operation_shape(operation: Operation) -> Shape:
    """An operation."""
    who = operation.provenance
    return {
        "id": operation.id,
        "seq": operation.seq,
        "kind": operation.kind,
        "at": moment_shape(operation.at),
        "origin": who.origin,
        "author": who.author,
        "session": who.session,
        "worktree": who.worktree,
        "branch": who.branch,
        "commit": who.commit,
        "reason": operation.reason,
        "undoes": operation.undoes,
    }


def conflict_shape(record: ConflictRecord) -> Shape:
    """A conflict with the texts it keeps."""
    return {
        "id": record.id,
        "memory": record.memory,
        "path": record.path,
        "kind": record.kind,
        "note": record.note,
        "at": moment_shape(record.at),
        "operation": record.operation,
        "base": None if record.base is None else content_shape(record.base),
        "theirs": content_shape(record.theirs),
        "resolution": record.resolution,
        "resolved_by": record.resolved_by,
    }


def noted_shape(noted: Noted) -> Shape:
    """What one file came to."""
    return {"path": noted.path, "what": noted.what, "rule": noted.rule, "detail": noted.detail}


def files_shape(report: SyncReport) -> Shape:
    """What became of the files."""
    from memstore.cli.telling import lines_left_out

    return {
        "folder": report.folder,
        "taken_over": report.taken_over,
        "absorbed": [noted_shape(noted) for noted in report.absorbed],
        "projected": list(report.projected),
        "removed": list(report.removed),
        "pending": [{"path": one.path, "reason": one.reason, "step": one.step} for one in report.pending],
        "omitted": list(report.omitted),
        "omitted_lines": lines_left_out(report),
        "waiting": list(report.waiting),
        "notices": list(report.notices),
        "seq": report.seq,
        "stopped": report.stopped,
    }


def key_shape(key: Key, settings: Settings) -> Shape:
    """A setting and the value that counts."""
    value, problem = None, ""
    try:
        value = _scalar(key, settings.get(key.name))
    except errors.SettingRefused as refused:
        problem = f"{refused}: {refused.hint}"
    return {
        "key": key.name,
        "kind": key.kind,
        "value": value,
        "source": settings.origin_of(key.name),
        "variable": key.variable,
        "default": _scalar(key, key.default),
        "allowed": key.allowed,
        "meaning": key.meaning,
        "problem": problem,
    }


def endpoint_shape(endpoint: Endpoint | None) -> Shape:
    """How the Messages API is asked; None: it is not. No secret is in it."""
    if endpoint is None:
        return {"host": None, "mended": "", "credential": None, "proxy": None}
    proxy = endpoint.proxy
    return {
        "host": endpoint.address.host,
        "mended": endpoint.address.mended,
        "credential": {"variable": endpoint.credential.variable, "kind": endpoint.credential.kind},
        "proxy": None if proxy is None else {"variable": proxy.variable, "host": proxy.host},
    }


def client_shape(client: Client) -> Shape:
    """The client, for its own fork."""
    return {
        "usable": not client.problem,
        "program": client.program or None,
        "version": client.version or None,
        "login": client.login or None,
        "problem": client.problem or None,
    }


def answer_shape(one: Answered) -> Shape:
    """A model that answered."""
    cost = one.reply.cost
    return {
        "model": one.asked,
        "settings": list(one.keys),
        "answered": one.reply.model,
        "seconds": one.seconds,
        "input_tokens": one.reply.usage.prompt,
        "output_tokens": one.reply.usage.output,
        "cost": None if cost is None else cost / 1_000_000,
    }


def _scalar(key: Key, value: Value) -> Value | float:
    from memstore.core.settings import MICRO

    return value / MICRO if key.kind == "money" and isinstance(value, int) else value


def error_shape(error: Exception, code: int, message: str, hint: str) -> Shape:
    """An error, with what its kind knows besides."""
    shape: Shape = {"kind": type(error).__name__, "code": code, "message": message, "hint": hint}
    if isinstance(error, errors.StaleVersion):
        shape["current_text"] = content_shape(error.current_text)
        shape["given_text"] = content_shape(error.given_text)
    for name in _TOLD:
        value = getattr(error, name, None)
        if isinstance(error, errors.MemstoreError) and isinstance(value, str):
            shape[name] = value
    return shape


def checked_shape(checked: Checked) -> Shape:
    """What of the things that a memory names is not there."""
    from memstore.core.claims import told

    return {
        "path": checked.memory.path,
        "token": checked.memory.token,
        "written_at": moment_shape(checked.written_at),
        "days": checked.days,
        "claims": checked.claims,
        "missing": [
            {
                "kind": one.claim.kind,
                "what": one.claim.what,
                "line": one.claim.line or None,
                "files": list(one.claim.files),
                "commit": one.commit or None,
                "told": told(one),
            }
            for one in checked.missing
        ],
    }
