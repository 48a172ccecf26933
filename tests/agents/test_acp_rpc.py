"""JSON-RPC with a real program at the other end."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.agents import acp_rpc
from holdfast.agents.acp_rpc import Connection, Gone, Handlers, RpcError, Stopped, Unanswered
from holdfast.system.process import Peer

Object = dict[str, Any]
NEVER, _KEPT_OPEN = os.pipe()


def refuse(method: str, params: Object) -> Object:
    raise RpcError(-32601, f"no {method}")


def connected(
    peer: Peer, asked: Callable[[str, Object], Object] = refuse, stop: int = NEVER
) -> tuple[Connection, list[str]]:
    told: list[str] = []
    news = Handlers(asked, lambda method, params: told.append(method), lambda line: told.append("strange"))
    return Connection(peer, news, stop), told


def shell(script: str) -> Peer:
    return Peer(("sh", "-c", script))


def test_an_answer_is_found_among_what_else_comes() -> None:
    other = '{"id":99,"result":{}}'
    script = f"""read line; echo '{{"method":"news"}}'; echo noise; echo; echo '{other}'
        echo '{{"id":1,"result":{{"a":1}}}}'; cat"""
    with shell(script) as peer:
        connection, told = connected(peer)
        assert connection.call("x", {}, 30) == {"a": 1}
    assert told == ["news", "strange"]


def test_an_error_is_raised_with_what_it_says() -> None:
    with (
        shell("""read line; echo '{"id":1,"error":{"code":-5,"message":"no","data":[1]}}'; cat""") as peer,
        pytest.raises(RpcError, match="no") as caught,
    ):
        connected(peer)[0].call("x", {}, 30)
    assert (caught.value.code, caught.value.data) == (-5, [1])


def test_what_is_asked_meanwhile_is_answered() -> None:
    script = """read line; echo '{"id":"q","method":"y","params":{"n":2}}'; read answer
        echo "{\\"id\\":1,\\"result\\":{\\"heard\\":$answer}}"; cat"""
    with shell(script) as peer:
        connection, _ = connected(peer, lambda method, params: {method: params["n"]})
        assert connection.call("x", {}, 30)["heard"] == {"jsonrpc": "2.0", "id": "q", "result": {"y": 2}}


def test_no_answer_in_time_is_said() -> None:
    with shell("exec tail -f /dev/null") as peer, pytest.raises(Unanswered):
        connected(peer)[0].call("x", {}, 0.01)


def test_a_wish_to_stop_ends_the_wait() -> None:
    reader, writer = os.pipe()
    os.write(writer, b".")
    with shell("exec tail -f /dev/null") as peer, pytest.raises(Stopped):
        connected(peer, stop=reader)[0].call("x", {})


def test_the_end_of_the_other_side_is_told_and_not_waited_for() -> None:
    with shell("read line; exit 3") as peer:
        with pytest.raises(Gone):
            connected(peer)[0].call("x", {}, 30)
        assert peer.status() == 3


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acp_rpc, "LONGEST_LINE", 1 << 20)
    with shell("cat /dev/zero") as peer, pytest.raises(Gone, match="a line of more than 1 MiB"):
        connected(peer)[0].call("x", {}, 30)


def test_listening_ends_when_it_is_quiet() -> None:
    with shell("""echo '{"method":"a"}'; echo '{"method":"b"}'; exec tail -f /dev/null""") as peer:
        connection, told = connected(peer)
        while told != ["a", "b"]:
            connection.listen(0.05)


def test_a_peer_that_ignores_every_polite_way_is_killed() -> None:
    with Peer(("sh", "-c", "trap '' TERM; echo ready; exec sleep 100"), grace=0.05) as peer:
        assert os.read(peer.out, 100) == b"ready\n"
    assert peer.status() == -9
