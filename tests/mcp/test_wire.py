"""The wire, under clients that do not keep to the protocol: whoever waits is answered, and an end is an end."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from memstore.mcp.wire import mended, refusals
from tests.mcp.served import repository
from tests.mcp.test_server import raw

PING = b'{"jsonrpc":"2.0","id":"after","method":"ping"}'
DEEP = b'{"a":' * 300 + b"1" + b"}" * 300


@pytest.mark.parametrize(
    ("line", "ids"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}', [7]),
        (b'{"jsonrpc":"2.0","id":"x","method":5}', ["x"]),
        (b'{"jsonrpc":"2.0","id":7}', [7]),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', [7]),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + DEEP + b"}", [7]),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":' + b"9" * 5_000 + b"}}", [7]),
        (b'[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"ping"}]', [7, 8]),
        # nobody waits for these
        (b'{"jsonrpc":"2.0","id":7,"error":5}', []),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', []),
        (b'{"jsonrpc":"2.0","method":5}', []),
        (b'[[], 5, null, "x"]', []),
        (b"[" * 100_000, []),
        (b"no JSON at all", []),
        (b"", []),
        # these are messages, whatever they say
        (b'{"jsonrpc":"2.0","id":7,"method":"no such method"}', []),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":null}', []),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"ping"}', []),
    ],
)
def test_a_request_that_is_no_message_is_refused_by_its_id(line: bytes, ids: list[object]):
    told = [json.loads(answer) for answer in refusals(mended(line))]
    assert [answer["id"] for answer in told] == ids
    assert all(answer["jsonrpc"] == "2.0" and answer["error"]["code"] == -32600 for answer in told)


def test_whoever_waits_for_an_answer_gets_one_and_the_server_goes_on(tmp_path: Path):
    with raw(repository(tmp_path / "repo"), tmp_path / "own") as server:
        server.begin()
        for line in (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}', b"no JSON", b"\xff\x00", b"[]"):
            server.send(line)
        server.send(PING)
        assert server.receive()["error"]["code"] == -32600
        assert server.receive() == {"jsonrpc": "2.0", "id": "after", "result": {}}


def test_a_client_that_never_reads_cannot_keep_the_server_from_ending(tmp_path: Path):
    with raw(repository(tmp_path / "repo"), tmp_path / "own") as server:
        server.begin()
        for number in range(100):  # more than a pipe holds
            server.send(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}' % (100 + number))
        assert server.process.stdout is not None
        assert server.process.stdout.read(1)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
