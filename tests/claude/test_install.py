"""What installing and uninstalling change: decided from what stands, without touching a disk."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from memstore.claude.install import (
    PLUGIN,
    Change,
    Document,
    Link,
    Plan,
    Record,
    Standing,
    Touched,
    install,
    obstacles,
    uninstall,
)
from memstore.errors import InputRefused, PlaceRefused

USER, LOCAL, LINK, HOME = (
    "/h/.claude/settings.json",
    "/p/.claude/settings.local.json",
    "/h/.claude/skills/m",
    "/m/plugin",
)
FILES = {"a": "text a", "b": "text b"}
OFF, ON = (json.dumps({"enabledPlugins": {PLUGIN: value}}) for value in (False, True))


def standing(
    user: str | None = None, project: str | None = None, target: str | None = None, record: Record | None = None
) -> Standing:
    return Standing(
        HOME, {}, Document(USER, user), Document(LOCAL, project), (Link(LINK, target),), (), record or Record()
    )


def after(plan: Plan, before: Standing) -> Standing:
    """What stands when the plan was carried out."""
    files = dict(before.files)
    texts = {one.path: one.text for one in (before.user, before.project, *before.others) if one is not None}
    links = {one.path: one.target for one in before.links}
    for change in plan.changes:
        if change.kind == "plugin":
            assert files.get(change.path) == change.before
            files.pop(change.path, None)
            if change.after is not None:
                files[change.path] = change.after
        else:
            place = texts if change.kind == "settings" else links
            assert place[change.path] == change.before
            place[change.path] = change.after
    return Standing(
        HOME,
        files,
        Document(USER, texts[USER]),
        Document(LOCAL, texts[LOCAL]),
        tuple(Link(path, target) for path, target in links.items()),
        tuple(Document(one.path, texts[one.path]) for one in before.others),
        plan.record or Record(),
    )


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize(
    "user", [None, "{}", '{"x": 1}', '{"enabledPlugins": {"a@b": true}}', '{"enabledPlugins": {}}']
)
@pytest.mark.parametrize("project", [None, "{}", '{\n  "x": 1\n}\n'])
def test_uninstalling_leaves_what_was_there_before_installing(scope: str, user: str | None, project: str | None):
    before = standing(user, project)
    installed = after(install(before, FILES, "project" if scope == "project" else "user"), before)
    assert installed.files == FILES
    assert installed.links[0].target == HOME
    gone = after(uninstall(installed, None), installed)
    assert (gone.user, gone.project, gone.files, gone.links) == (before.user, before.project, {}, before.links)
    assert uninstall(installed, None).record is None


@pytest.mark.parametrize("scope", ["user", "project"])
def test_installing_twice_changes_nothing_more(scope: str):
    wanted = "project" if scope == "project" else "user"
    installed = after(install(standing(), FILES, wanted), standing())  # type: ignore[arg-type]  # a literal by the line above
    plan = install(installed, FILES, wanted)  # type: ignore[arg-type]  # a literal by the line above
    assert (plan.changes, plan.record) == ((), installed.record)


def test_installing_for_the_user_needs_no_setting():
    assert {change.kind for change in install(standing("{}", "{}"), FILES, "user").changes} == {"plugin", "link"}


def test_installing_for_a_project_switches_it_on_there_and_off_elsewhere():
    done = after(install(standing("{}", "{}"), FILES, "project"), standing("{}", "{}"))
    assert json.loads(done.user.text or "") == {"enabledPlugins": {PLUGIN: False}}
    assert done.project is not None
    assert json.loads(done.project.text or "") == {"enabledPlugins": {PLUGIN: True}}


def test_the_link_that_makes_it_count_comes_last_and_goes_first():
    plan = install(standing("{}", "{}"), FILES, "project")
    assert [change.kind for change in plan.changes] == ["plugin", "plugin", "settings", "settings", "link"]
    installed = after(plan, standing("{}", "{}"))
    kinds = [change.kind for change in uninstall(installed, None).changes]
    assert kinds == ["link", "settings", "settings", "plugin", "plugin"]


def test_what_the_user_has_stays_on_elsewhere_when_a_project_installs_it_too():
    installed = after(install(standing("{}", "{}"), FILES, "user"), standing("{}", "{}"))
    both = after(install(installed, FILES, "project"), installed)
    assert both.user.text == "{}"
    one = after(uninstall(both, "project"), both)
    assert (one.links[0].target, one.project) == (HOME, Document(LOCAL, "{}"))
    assert one.files == FILES


def test_installing_for_the_user_after_a_project_takes_the_switch_out():
    first = after(install(standing('{"x": 1}', None), FILES, "project"), standing('{"x": 1}', None))
    then = after(install(first, FILES, "user"), first)
    assert then.user.text == '{"x": 1}'


def test_the_last_project_takes_all_along_and_an_earlier_one_only_its_own():
    other = Touched("/q/.claude/settings.local.json", made=True, had=False, project=True)
    first = after(install(standing(None, None), FILES, "project"), standing(None, None))
    two = replace(first, record=replace(first.record, settings=(*first.record.settings, other)))
    assert [change.path for change in uninstall(two, "project").changes] == [LOCAL]
    rest = uninstall(two, "project").record
    assert rest is not None
    assert other in rest.settings
    assert uninstall(first, "project").record is None
    assert after(uninstall(first, "project"), first).links[0].target is None


def test_settings_of_other_projects_are_cleaned_as_well():
    other = Touched("/q/s.json", made=False, had=True, project=True)
    seen = replace(standing(), others=(Document("/q/s.json", ON),), record=Record(settings=(other,)))
    assert uninstall(seen, None).changes == (Change("settings", "/q/s.json", ON, '{"enabledPlugins": {}}'),)


def test_another_projects_trouble_is_told_and_keeps_nothing_else():
    seen = replace(standing(OFF), others=(Document("/q/s.json", "// no"),))
    plan = uninstall(seen, None)
    assert [change.path for change in plan.changes] == [USER]
    assert plan.warnings[0].startswith("/q/s.json is not JSON")


def test_without_a_record_our_entries_are_taken_out_all_the_same():
    plan = uninstall(standing(OFF, ON, HOME), None)
    assert [(change.path, change.after) for change in plan.changes] == [(LINK, None), (USER, "{}"), (LOCAL, "{}")]


def test_a_plugin_of_an_earlier_version_loses_the_files_it_no_longer_has():
    seen = replace(
        standing(target=HOME), files={"a": "text a", "old": "x", "foreign": "y"}, record=Record(("a", "old"))
    )
    changes = install(seen, FILES, "user").changes
    assert [(change.path, change.after) for change in changes] == [("b", "text b"), ("old", None)]


def test_a_folder_that_is_not_ours_is_refused_by_installing_and_left_by_uninstalling():
    seen = replace(standing(), links=(Link(LINK, None, "it is no link"),))
    with pytest.raises(PlaceRefused, match="not memstore's: it is no link"):
        install(seen, FILES, "user")
    assert uninstall(seen, None).changes == ()
    elsewhere = standing(target="/another/home/plugin")
    assert uninstall(elsewhere, None).changes == ()
    assert install(elsewhere, FILES, "user").changes[-1] == Change("link", LINK, "/another/home/plugin", HOME)


@pytest.mark.parametrize("text", ["{,}", '{"enabledPlugins": []}'])
def test_settings_that_cannot_be_edited_are_refused_and_named(text: str):
    for seen in (standing(text), standing("{}", text)):
        with pytest.raises(InputRefused, match=r"/\.claude/settings"):
            install(seen, FILES, "project")


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ({}, False),
        ({"strictKnownMarketplaces": []}, True),
        ({"strictKnownMarketplaces": [{"source": "github", "repo": "a/b"}]}, True),
        ({"allowedMarketplaces": [{"source": "github", "repo": "a/b"}]}, True),
        ({"strictKnownMarketplaces": [{"source": "skills-dir"}]}, False),
        ({"blockedMarketplaces": [{"source": "skills-dir"}]}, True),
        ({"blockedMarketplaces": ["x"], "strictKnownMarketplaces": "x"}, False),
        ({"enabledPlugins": {PLUGIN: False}}, True),
        ({"enabledPlugins": {PLUGIN: True}}, False),
    ],
)
def test_an_organisation_that_keeps_the_plugin_out_is_named(content: dict[str, object], blocks: bool):
    blocked, warnings = obstacles([("managed.json", True, content)])
    assert (blocked.startswith("managed.json "), warnings) == (blocks, ())
    assert obstacles([("user.json", False, content)]) == ("", ())


@pytest.mark.parametrize(("key", "own"), [("disableAllHooks", 1), ("allowManagedHooksOnly", 0)])
def test_hooks_that_would_not_run_are_told_and_no_obstacle(key: str, own: int):
    for managed, count in ((True, 1), (False, own)):
        blocked, warnings = obstacles([("s.json", managed, {key: True})])
        assert (blocked, len(warnings)) == ("", count)
        assert all(key in warning and "s.json" in warning for warning in warnings)
