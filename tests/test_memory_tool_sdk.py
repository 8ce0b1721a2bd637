"""The memory tool in the SDK's own runner, against a Messages API of this process, and beside the SDK's file helper."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.tools import BetaLocalFilesystemMemoryTool, ToolError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstore import Memstore
from memstore.memory_tool import MemstoreAsyncMemoryTool, MemstoreMemoryTool

README = Path(__file__).parents[1] / "README.md"
MODEL = "claude-opus-5-5"


class Api(ThreadingHTTPServer):
    """Its model calls the memory tool with these inputs, one after the other, and then says that it is done."""

    daemon_threads = True

    def __init__(self, inputs: Sequence[object]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.inputs = inputs
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def results(self) -> list[tuple[bool, str]]:
        """What the tool answered to each input, and whether it was told as an error."""
        found: dict[str, tuple[bool, str]] = {}  # a request has the whole history, or what is new since the last one
        for message in (message for request in self.requests for message in request["messages"]):
            for block in message["content"] if message["role"] == "user" else ():
                if isinstance(block, dict) and block["type"] == "tool_result":
                    found[block["tool_use_id"]] = bool(block.get("is_error")), block["content"]
        return list(found.values())


class Handler(BaseHTTPRequestHandler):
    server: Api

    def log_message(self, format: str, *arguments: object) -> None:
        """Keeps the test's output free of a line for each request."""

    def do_POST(self) -> None:
        self.server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        turn = len(self.server.requests) - 1
        content: dict[str, object] = {"type": "text", "text": "Done."}
        if turn < len(self.server.inputs):
            content = {"type": "tool_use", "id": f"toolu_{turn}", "name": "memory", "input": self.server.inputs[turn]}
        body = json.dumps(
            {
                "id": f"msg_{turn}", "type": "message", "role": "assistant", "model": MODEL, "content": [content],
                "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn", "stop_sequence": None,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            }
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def serve() -> Iterator[Any]:
    started: list[tuple[Api, threading.Thread]] = []

    def start(inputs: Sequence[object]) -> Api:
        api = Api(inputs)
        thread = threading.Thread(target=api.serve_forever, args=(0.05,))
        thread.start()
        started.append((api, thread))
        return api

    yield start
    for api, thread in started:
        api.shutdown()
        api.server_close()
        thread.join()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo"


A = "/memories/a.md"
TALK: tuple[dict[str, object], ...] = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": A, "file_text": "The cache lives on h1.\n"},
    {"command": "create", "path": A, "file_text": "again"},
    {"command": "str_replace", "path": A, "old_str": "h1", "new_str": "h2"},
    {"command": "insert", "path": A, "insert_line": 1, "insert_text": "Since May."},
    {"command": "view", "path": A, "view_range": [1, 2]},
    {"command": "rename", "old_path": A, "new_path": "/memories/n/cache.md"},
    {"command": "view", "path": "/memories/../etc/passwd"},
    {"command": "explode", "path": A},
    {"command": "delete", "path": "/memories/n/cache.md"},
)
ANSWERS = [
    (
        False,
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n0B\t/memories",
    ),
    (False, f"File created successfully at: {A}"),
    (True, f"File {A} already exists"),
    (
        False,
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tThe cache lives on h2.\n     2\t",
    ),
    (False, f"The file {A} has been edited."),
    (False, f"Here's the content of {A} with line numbers:\n     1\tThe cache lives on h2.\n     2\tSince May."),
    (False, f"Successfully renamed {A} to /memories/n/cache.md"),
    (True, "The path /memories/../etc/passwd cannot be used: it leads out of the memory folder"),
    (True, "Unknown command: explode; there are create, delete, insert, rename, str_replace, view"),
    (False, "Successfully deleted /memories/n/cache.md"),
]


def test_the_runner_calls_the_tool_and_sends_its_answers(serve: Any, repository: Path):
    api = serve(TALK)
    with (
        Anthropic(base_url=api.url, api_key="none", max_retries=0) as client,
        MemstoreMemoryTool(str(repository)) as tool,
    ):
        answer = client.beta.messages.tool_runner(
            model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "Remember."}], tools=[tool]
        ).until_done()
    assert answer.content[0].type == "text" and answer.content[0].text == "Done."
    assert api.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert api.results == ANSWERS
    with Memstore.open(str(repository)) as memories:
        assert [operation.kind for operation, _ in memories.log()] == ["delete", "rename", "edit", "edit", "write"]


def test_the_asynchronous_runner_does_too(serve: Any, repository: Path):
    api = serve(TALK)

    async def talk() -> None:
        cached = MemstoreAsyncMemoryTool(str(repository), cache_control={"type": "ephemeral"})
        async with AsyncAnthropic(base_url=api.url, api_key="none", max_retries=0) as client, cached as tool:
            runner = client.beta.messages.tool_runner(
                model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "Remember."}], tools=[tool]
            )
            await runner.until_done()

    asyncio.run(talk())
    assert api.requests[0]["tools"][0]["cache_control"] == {"type": "ephemeral"}
    assert api.results == ANSWERS


def test_the_example_in_the_readme_runs(
    serve: Any, repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    api = serve(TALK[1:2])
    [example] = [
        each for each in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "memory_tool" in each
    ]
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    exec(compile(example.replace("path/to/repository", os.fspath(repository)), "README.md", "exec"), {})
    assert api.results == [(False, f"File created successfully at: {A}")]
    assert capsys.readouterr().out == "Done.\n"


# Beside the SDK's own helper for files

FILES = ("/memories/a.md", "/memories/b.md", "/memories/n/a.md", "/memories/n/deep/b.md", "/memories/m/a.md")
PLACES = (*FILES, "/memories/n", "/memories/n/deep", "/memories/m", "/memories", "/memories/none.md", "/memoriesless")
WORDS = st.lists(st.sampled_from(["a", "b", "ab", "\n", " ", "é", "锁", "\r"]), max_size=8).map("".join)

files, places = st.sampled_from(FILES), st.sampled_from(PLACES)
COMMANDS = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": files, "file_text": WORDS}),
    st.fixed_dictionaries({"command": st.just("view"), "path": places}),
    st.fixed_dictionaries(
        {"command": st.just("view"), "path": files, "view_range": st.sampled_from([[1, 1], [1, -1], [0, 1], [1, 9]])}
    ),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": places, "old_str": WORDS.filter(bool), "new_str": WORDS}
    ),
    st.fixed_dictionaries(
        {"command": st.just("insert"), "path": places, "insert_line": st.integers(-1, 4), "insert_text": WORDS}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": places}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": files, "new_path": files}),
    st.fixed_dictionaries(
        {
            "command": st.just("rename"),
            "old_path": st.sampled_from(["/memories/n", "/memories/m", "/memories"]),
            "new_path": st.sampled_from(["/memories/n", "/memories/m", "/memories/o"]),
        }
    ),
)


def answer(tool: Any, command: dict[str, object]) -> tuple[bool, str]:
    try:
        return False, str(tool.call(command))
    except ToolError as error:
        return True, str(error.content)


def normal(told: tuple[bool, str], command: dict[str, object]) -> tuple[bool, str]:
    """Without what is no promise: the size of a directory, the file of the index, and who else may not be a path."""
    failed, text = told
    if failed and command.get("path") == "/memoriesless":
        return True, "refused"
    if text.startswith("Here're"):
        kept = [line for line in text.split("\n") if not line.endswith("/memories/MEMORY.md")]
        text = "\n".join(re.sub(r"^\S+(?=\t.*(/|/memories[a-z/]*)$)", "?", line) for line in kept)
    return failed, text


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commands=st.lists(COMMANDS, max_size=12))
def test_the_tool_answers_as_the_helper_of_the_sdk(
    commands: list[dict[str, object]], tmp_path_factory: pytest.TempPathFactory
):
    """What differs: a directory of ours goes with its last file, and a path has to have its slash."""
    base = tmp_path_factory.mktemp("beside")
    (base / "repo" / ".git").mkdir(parents=True)
    theirs = BetaLocalFilesystemMemoryTool(str(base / "theirs"))
    with MemstoreMemoryTool(str(base / "repo")) as ours:
        for command in commands:
            assert normal(answer(ours, command), command) == normal(answer(theirs, command), command), command
            for directory, _, _ in os.walk(base / "theirs" / "memories", topdown=False):
                if directory != str(base / "theirs" / "memories") and not os.listdir(directory):
                    os.rmdir(directory)
        for name in FILES:
            command = {"command": "view", "path": name}
            assert answer(ours, command) == answer(theirs, command)
