"""The client's own program: which it is, and which is never started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memstore.core.settings import Settings
from memstore.errors import ModelDeclined, ModelUnset, SettingRefused
from memstore.jobs.choice import choose, client
from memstore.jobs.client_program import OLDEST, environment_of, find_path, find_program, read_version
from tests.jobs.standin import StandIn


@pytest.fixture
def standin(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path / "bin")


def found_on(*places: Path | str, repository: tuple[str, ...] = (), chosen: bool = False) -> str:
    path = os.pathsep.join(map(str, places))
    return find_path("claude", {"PATH": path}, chosen=chosen, repository=repository)


def test_the_first_on_path_is_taken(standin: StandIn, tmp_path: Path):
    other = StandIn(tmp_path / "other")
    assert found_on(tmp_path, standin.place, other.place) == str(standin.path)


def test_a_relative_place_on_path_is_passed_over(standin: StandIn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(standin.place)
    for place in (".", "", "../bin"):
        with pytest.raises(ModelUnset, match="not on PATH"):
            found_on(place)


def test_a_file_that_cannot_be_started_is_none(standin: StandIn):
    standin.path.chmod(0o644)
    with pytest.raises(ModelUnset) as unset:
        found_on(standin.place)
    assert "`memstore config set --user claude PATH`" in unset.value.hint


def test_a_directory_of_that_name_is_none(tmp_path: Path):
    (tmp_path / "claude").mkdir()
    with pytest.raises(ModelUnset):
        found_on(tmp_path)


def test_what_lies_in_the_repository_is_never_started_unasked(standin: StandIn, tmp_path: Path):
    """Directly, or by a link, in whichever direction it leads."""
    outside = StandIn(tmp_path / "outside")
    link = tmp_path / "linked"
    link.symlink_to(standin.place)
    inner = standin.place / "node_modules"
    inner.mkdir()
    (inner / "claude").symlink_to(outside.path)
    for place in (standin.place, link, inner):
        with pytest.raises(ModelUnset, match="lies in the repository"):
            found_on(place, repository=(str(standin.place),))
        assert found_on(place, outside.place, repository=(str(standin.place),)) == str(outside.path)
        assert found_on(place, repository=(str(standin.place),), chosen=True) == str(place / "claude")
    assert found_on(standin.place, repository=(f"{standin.place}-2",)) == str(standin.path)


def test_a_whole_path_is_taken_as_it_is(standin: StandIn, tmp_path: Path):
    assert find_path(str(standin.path), {}, chosen=False) == str(standin.path)
    assert find_path("~/bin/claude", {"HOME": str(tmp_path)}, chosen=True) == str(standin.path)
    for name in ("bin/claude", "./claude", str(tmp_path / "none")):
        with pytest.raises(ModelUnset, match="is not at"):
            find_path(name, {}, chosen=True)


def test_the_version_is_asked_for_in_the_environment_of_a_fork(standin: StandIn):
    standin.version("2.1.332")
    program = find_program(str(standin.path), dict(os.environ), chosen=True)
    assert (program.path, program.version, program.told) == (str(standin.path), (2, 1, 332), "2.1.332")
    assert environment_of({"CLAUDECODE": "1", "HOME": "/h"}) == {
        "CLAUDE_CODE_MAX_RETRIES": "2", "HOME": "/h", "MEMSTORE_FORK": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "told"),
    [("2.1.239", "is of version 2.1.239"), ("1.0.3", "or newer"), ("hello", "does not say"), ("", "does not say")],
)
def test_what_is_too_old_or_no_client_is_told(standin: StandIn, version: str, told: str):
    standin.version(version)
    with pytest.raises(ModelDeclined, match=told):
        find_program(str(standin.path), dict(os.environ), chosen=True)


def test_versions_are_read_as_numbers():
    assert read_version("2.1.332 (Claude Code)") == (2, 1, 332)
    assert read_version("2.10.3") == (2, 10, 3) > OLDEST
    for text in ("", "v2.1", "2.1", "claude 2.1.332", "2.1.99999999999"):
        assert read_version(text) is None


KEY = {"ANTHROPIC_API_KEY": "sk-ant-api03-x"}


@pytest.mark.parametrize(
    ("via", "environment", "there", "who"),
    [
        ("auto", KEY, True, "api"),
        ("auto", KEY, False, "api"),
        ("auto", {"ANTHROPIC_AUTH_TOKEN": "t"}, True, "api"),
        ("auto", {"CLAUDE_CODE_OAUTH_TOKEN": "t"}, True, "client"),
        ("auto", {}, True, "client"),
        ("client", KEY, True, "client"),
        ("api", KEY, True, "api"),
    ],
)
def test_who_thinks(standin: StandIn, via: str, environment: dict[str, str], there: bool, who: str):
    place = str(standin.place) if there else "/nowhere"
    assert choose(Settings(store={"extract.via": via}), {**environment, "PATH": place}) == who


@pytest.mark.parametrize(
    ("via", "told"), [("auto", "neither ANTHROPIC_API_KEY nor"), ("api", "neither"), ("client", "is not on PATH")]
)
def test_nobody_to_think_is_told_with_the_next_step(via: str, told: str):
    with pytest.raises(ModelUnset, match=told) as unset:
        choose(Settings(store={"extract.via": via}), {"PATH": "/nowhere"})
    assert "key" in unset.value.hint.lower()


def test_a_key_that_cannot_be_sent_is_not_passed_over(standin: StandIn):
    with pytest.raises(SettingRefused):
        choose(Settings(), {"ANTHROPIC_API_KEY": "a\nb", "PATH": str(standin.place)})


def test_only_what_a_person_set_may_lie_in_the_repository(standin: StandIn):
    environment = {**os.environ, "MEMSTORE_CLAUDE": str(standin.path)}
    repository = (str(standin.place),)
    with pytest.raises(ModelUnset, match="lies in the repository"):
        client(Settings(environment=environment), environment, repository)
    for settings in (Settings(user={"claude": str(standin.path)}), Settings(store={"claude": str(standin.path)})):
        assert client(settings, environment, repository).path == str(standin.path)
