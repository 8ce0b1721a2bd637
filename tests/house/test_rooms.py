"""Rules of the house that no general tool knows, checked on the syntax trees of the modules."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "memstore").rglob("*.py"))

ONLY_IN = {
    "apsw": r"memstore/store/|memstore/core/terms\.py|memstore/hook\.py",
    "click": r"memstore/cli/",
    "anthropic": r"memstore/jobs/llm\.py|memstore/memory_tool\.py",
    "matplotlib": r"memstore/upkeep/plotting\.py",
    "mcp": r"memstore/mcp/",
    "mcp_types": r"memstore/mcp/",
    "numpy": r"memstore/semantic\.py",
    "tokenizers": r"memstore/semantic\.py",
    "wordllama": r"(?!)",
    "sqlite3": r"(?!)",
    "sqlite_utils": r"(?!)",
}

HEAVY = {
    *("anthropic", "filelock", "mcp", "mcp_types", "merge3", "numpy", "platformdirs", "rich", "tokenizers"),
    *("matplotlib", "watchfiles", "yaml"),
}
"""Imported inside the function that needs them: a search or a hook does not pay for them."""

DOORS = {
    ("memstore/memory_tool.py", "anthropic"),
    *(
        (f"memstore/mcp/{module}.py", name)
        for module in ("notices", "server", "shapes")
        for name in ("mcp", "mcp_types")
    ),
}
"""Modules that nobody imports but for the library's sake."""


def each(files: list[str]) -> Callable[[Callable[[str], None]], Callable[[], None]]:
    """One test of a rule for all these files, which tells every file that breaks it."""

    def made(rule: Callable[[str], None]) -> Callable[[], None]:
        def test() -> None:
            wrong = []
            for file in files:
                try:
                    rule(file)
                except AssertionError as broken:
                    wrong.append(f"{file}: {broken}")
            assert not wrong, "\n".join(wrong)

        test.__name__, test.__doc__ = rule.__name__, rule.__doc__
        return test

    return made


each_module = each(MODULES)


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"), module)


def imports(root: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(root):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.split(".")[0], node.lineno


def at_import_time(root: ast.AST) -> Iterator[ast.AST]:
    """The statements that run when the module is imported: no function bodies, no `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(root):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from at_import_time(node)


def calls(root: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(root):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


@each_module
def test_libraries_are_imported_only_in_their_rooms(module: str):
    wrong = [
        f"{module}:{line} imports {name}"
        for name, line in imports(tree(module))
        if name in ONLY_IN and not re.match(ONLY_IN[name], module)
    ]
    assert wrong == []


@each_module
def test_heavy_libraries_are_imported_where_they_are_used(module: str):
    wrong = [
        f"{module}:{node.lineno} imports {name} for everybody"
        for node in at_import_time(tree(module))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name, _ in imports(node)
        if name in HEAVY and (module, name) not in DOORS
    ]
    assert wrong == []


@each_module
def test_no_command_goes_through_a_shell(module: str):
    for name, call in calls(tree(module)):
        assert name not in {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}, call.lineno
        assert not [word for word in call.keywords if word.arg == "shell"], f"{module}:{call.lineno}"


@each_module
def test_lines_end_at_newlines_only(module: str):
    assert [call.lineno for name, call in calls(tree(module)) if name.endswith(".splitlines")] == []


SQL = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|BEGIN|COMMIT|ROLLBACK|PRAGMA|WITH)\b")


@each_module
def test_sql_stands_in_the_store_alone(module: str):
    if module.startswith("memstore/store/") or module == "memstore/hook.py":
        return
    made = list(calls(tree(module)))
    assert [call.lineno for name, call in made if name.endswith(".pragma")] == []
    given = [call for name, call in made if name.endswith((".execute", ".executemany"))]
    texts = [node.value for call in given for node in ast.walk(call) if isinstance(node, ast.Constant)]
    assert [text for text in texts if isinstance(text, str) and SQL.match(text)] == []


@each_module
def test_only_the_command_line_prints(module: str):
    if not module.startswith("memstore/cli/"):
        assert [call.lineno for name, call in calls(tree(module)) if name == "print"] == []


@each_module
def test_a_module_is_one_room(module: str):
    assert (ROOT / module).read_text(encoding="utf-8").count("\n") <= 400


@each_module
def test_what_is_raised_comes_from_the_error_tree(module: str):
    """Besides OSError, with its errno; and the command line has its own way out: click's errors."""
    known = {"OSError"} | {node.name for node in tree("memstore/errors.py").body if isinstance(node, ast.ClassDef)}
    if module == "memstore/__init__.py":
        known.add("AttributeError")  # what Python expects of a module's __getattr__
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and not module.startswith("memstore/cli/"):
            name = ast.unparse(node.exc.func).split(".")[-1]
            assert name in known or name.lstrip("_")[0].islower(), f"{module}:{node.lineno} raises {name}"


def python_files() -> list[str]:
    places = ("memstore", "scripts", "tests")
    return sorted(str(path.relative_to(ROOT)) for place in places for path in (ROOT / place).rglob("*.py"))


each_file = each(python_files())


@each_file
def test_every_suppression_gives_its_reason(path: str):
    text = (ROOT / path).read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        for found in re.finditer(r"(type: *ignore|noqa|pragma: no cover)\S*([^#]*)(#.*)?", token.string):
            reason = (found[2] + (found[3] or "")).strip(" :#-,")
            assert len(reason.split()) >= 2, f"{path}:{token.start[0]}: {token.string}"


@each_file
def test_no_path_of_some_machine_is_in_the_code(path: str):
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.])/(?:root|opt|work|Users/\w+|home/\w+)/", text) == []


@each_module
def test_no_pattern_has_a_possessive_group(module: str):
    """Pythons before 3.11.5 match them wrongly; an atomic group says the same."""
    assert not re.search(r"\)[?*+]\+(?!,)", (ROOT / module).read_text(encoding="utf-8"))
