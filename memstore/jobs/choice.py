"""Who thinks in a run: the Messages API, or the client's own fork of the session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from memstore.core.settings import Settings
from memstore.errors import ModelUnset
from memstore.jobs.client_program import SETTING, Program, find_path, find_program
from memstore.jobs.endpoint import find_credential, find_endpoint

Via = Literal["api", "client"]


def choose(settings: Settings, environment: Mapping[str, str]) -> Via:
    """Who is to be asked: with `extract.via` auto the API where a key or a token is set, else the client.

    Raises ModelUnset where there is nobody, SettingRefused where a setting or a variable cannot be used.
    """
    via = settings.word("extract.via")
    if via == "client":
        _find_path(settings, environment)
        return "client"
    if via == "auto" and find_credential(environment) is None:
        try:
            _find_path(settings, environment)
        except ModelUnset:
            find_endpoint(environment)  # raises, with a hint of both
        return "client"
    find_endpoint(environment)
    return "api"


def client(settings: Settings, environment: Mapping[str, str], repository: Sequence[str] = ()) -> Program:
    """The client's program. Raises ModelUnset where there is none, ModelDeclined where it cannot be used.

    `repository`: the directories of the session's repository.
    """
    chosen = settings.origin_of(SETTING) in ("store", "user")
    return find_program(settings.word(SETTING), environment, chosen=chosen, repository=repository)


def _find_path(settings: Settings, environment: Mapping[str, str]) -> str:
    chosen = settings.origin_of(SETTING) in ("store", "user")
    return find_path(settings.word(SETTING), environment, chosen=chosen)
