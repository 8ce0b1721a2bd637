"""Where things lie at the top of the project, and that the locks stay true for everybody."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP = {"pyproject.toml", "README.md", "LICENSE", "memstore", "schema", "scripts", "tests"}


def tracked() -> list[str]:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name]


def pins(name: str) -> dict[str, str]:
    text = (ROOT / "scripts" / "locks" / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", text, re.MULTILINE))


def normal(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def test_the_top_level_holds_only_what_the_design_names():
    tops = {name.split("/")[0] for name in tracked()}
    assert {top for top in tops if not top.startswith(".")} <= TOP


def test_every_module_has_its_tests_in_a_mirrored_directory():
    rooms = {path.name for path in (ROOT / "memstore").iterdir() if (path / "__init__.py").exists()}
    extra = {"client", "hooks", "house", "data", "journeys", "race", "crash", "__pycache__"}
    found = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert found <= rooms | extra


def test_locks_pin_every_dependency_and_agree_with_each_other():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    run, dev = pins("run.txt"), pins("dev.txt")
    assert {normal(wanted) for wanted in project["dependencies"]} <= run.keys()
    assert {normal(wanted) for wanted in project["optional-dependencies"]["dev"]} <= dev.keys()
    assert run.items() <= dev.items()
    more = pins("semantic.txt")
    assert {normal(wanted) for wanted in project["optional-dependencies"]["semantic"]} <= more.keys() | dev.keys()
    assert not more.keys() & dev.keys()


def test_locks_name_no_host_and_no_machine():
    for name in ("run.txt", "dev.txt", "client.txt", "semantic.txt"):
        text = (ROOT / "scripts" / "locks" / name).read_text(encoding="utf-8").removeprefix("-r dev.txt\n")
        for line in text.split("\n"):
            assert re.fullmatch(r"|[A-Za-z0-9._-]+==\S+( ; [^\\/:]+)? \\| +--hash=sha256:[0-9a-f]{64}( \\)?", line), (
                line
            )


def test_scripts_are_executable_as_committed():
    wanted = {".ci/run", "scripts/memstore", "scripts/test", "scripts/check", "scripts/client", "scripts/schema"}
    staged = subprocess.run(["git", "-C", ROOT, "ls-files", "-s"], capture_output=True, text=True, check=True)
    modes = {line.split("\t")[1]: line.split(" ")[0] for line in staged.stdout.split("\n") if line}
    assert {name: modes.get(name) for name in wanted} == dict.fromkeys(wanted, "100755")
