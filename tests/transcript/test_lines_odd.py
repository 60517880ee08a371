"""Transcripts that no client writes on a good day: torn, glued, foreign, huge and senseless lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import ClaudeTalk, DroidTalk, Talk, compact, event_id, place
from rewind.transcript.place.boundary import find_boundary_by_user_prompts
from rewind.transcript.read.index import SessionIndex, read_index

cli = in_process.cli  # the fixture
Write = Callable[[bytes], Path]
MEGABYTES = 5 * 1024 * 1024


@pytest.fixture
def claude(home: Path, project: Path) -> Write:
    return lambda data: place(home, "claude", project, data, event_id(0xC1A0DE))


@pytest.fixture
def droid(home: Path, project: Path) -> Write:
    return lambda data: place(home, "droid", project, data, event_id(0xD201D))


def three_turns() -> ClaudeTalk:
    talk = ClaudeTalk()
    for text in ("first", "second", "third"):
        talk.turn(text)
    return talk


def texts(path: Path) -> list[str]:
    """The active prompts, oldest first; the tail reader must agree with the whole file's."""
    index = read_index(str(path))
    active = [turn for turn in index.turns if turn.active]
    data = path.read_bytes()
    for n in range(1, len(active) + 1):
        found = find_boundary_by_user_prompts(str(path), n)
        assert found.boundary == active[-n].offset
        assert [prompt.text for prompt in found.prompts] == [turn.prompt for turn in active[-n:]]
    assert path.read_bytes() == data
    return [turn.prompt for turn in active]


def chain_of(path: Path) -> list[str]:
    return list(_index(path).chain)


def _index(path: Path) -> SessionIndex:
    return read_index(str(path))


def fork(cli: InProcess, path: Path, n: int = 1) -> bytes:
    """The bytes of the new session; whatever the source looks like, every line of it is whole."""
    data = path.read_bytes()
    if not cli.state.exists():
        cli.init()
    result = cli.run("back", str(n), "--session", str(path), "--json")
    assert result.code == 0, result
    made = Path(result.data["fork"]["path"]).read_bytes()
    assert path.read_bytes() == data
    assert made.endswith(b"\n")
    return made


def events(data: bytes) -> list[str]:
    found = []
    for line in data.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "uuid" in value:
            found.append(value["uuid"])
    return found


# Ends of files and of lines

@pytest.mark.parametrize("keep", [1, 40, -2])
def test_a_torn_last_line_is_no_prompt_and_does_not_reach_the_fork(
        cli: InProcess, claude: Write, keep: int) -> None:
    talk = three_turns()
    whole = talk.bytes()
    talk.prompt("torn")
    path = claude(whole + talk.lines[-1][:keep])
    assert texts(path) == ["first", "second", "third"]
    assert b"torn" not in fork(cli, path)


def test_a_last_line_without_its_newline_is_read_when_it_is_whole(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    asked = talk.prompt("no newline yet")
    path = claude(talk.bytes()[:-1])
    assert texts(path) == ["first", "second", "third", "no newline yet"]
    assert chain_of(path)[-1] == asked
    assert all(json.loads(line) for line in fork(cli, path).splitlines())


def test_a_prompt_glued_behind_another_line_is_cut_without_losing_that_line(
        cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    said = talk.here
    talk.prompt("glued")
    talk.answer("to the glued one")
    behind = talk.lines[-2]
    before = b"\n".join(talk.lines[:-2])
    path = claude(before + behind + b"\n" + talk.lines[-1] + b"\n")
    assert texts(path) == ["first", "second", "third", "glued"]
    assert find_boundary_by_user_prompts(str(path), 1).boundary == len(before)
    made = fork(cli, path)
    assert said in events(made), "the object before the prompt is gone"
    assert b"glued" not in made


def test_a_prompt_with_another_object_glued_behind_it_is_found(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    asked = talk.prompt("in front")
    answered = talk.answer("glued behind")
    start = talk.offset(-2)
    path = claude(b"\n".join(talk.lines[:-1]) + talk.lines[-1] + b"\n")
    assert texts(path) == ["first", "second", "third", "in front"]
    assert chain_of(path)[-2:] == [asked, answered]
    assert find_boundary_by_user_prompts(str(path), 1).boundary == start
    assert asked not in events(fork(cli, path))


def test_two_prompts_on_one_line_are_two_prompts(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    talk.prompt("one of two")
    talk.prompt("two of two")
    path = claude(b"\n".join(talk.lines[:-1]) + talk.lines[-1] + b"\n")
    assert texts(path) == ["first", "second", "third", "one of two", "two of two"]
    made = fork(cli, path)
    assert b"one of two" in made and b"two of two" not in made


def test_a_whole_line_glued_behind_a_torn_one_is_no_reason_to_stop(cli: InProcess, claude: Write) -> None:
    """The client died in a write, and the next one appended to what was there."""
    talk = three_turns()
    before = talk.bytes()
    torn = talk.lines[-1][:50]
    talk.turn("after the crash")
    talk.turn("last")
    path = claude(before + torn + b"\n".join(talk.lines[9:]) + b"\n")
    assert texts(path)[-1] == "last"
    assert b"Answer to after the crash" in fork(cli, path)


def test_invalid_lines_in_the_middle_are_skipped(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    wanted = chain_of(claude(talk.bytes()))
    for at, junk in ((1, b"not json"), (4, b'{"type":"user","uuid":"x"'), (7, b"}{"), (9, b'{"a":1}}')):
        talk.lines.insert(at, junk)
    path = claude(talk.bytes())
    assert texts(path) == ["first", "second", "third"]
    assert chain_of(path) == wanted
    assert events(fork(cli, path)) == wanted[:6]


def test_lines_may_end_in_carriage_return_and_newline(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    path = claude(talk.bytes(b"\r\n"))
    assert texts(path) == ["first", "second", "third"]
    assert find_boundary_by_user_prompts(str(path), 1).boundary == talk.offset(6) + 6
    assert len(events(fork(cli, path))) == 6


def test_a_droid_session_may_have_windows_line_ends_too(cli: InProcess, droid: Write) -> None:
    talk = DroidTalk()
    talk.turn("first")
    talk.turn("second")
    made = fork(cli, droid(talk.bytes(b"\r\n")))
    assert json.loads(made.splitlines()[0])["title"] == "[Fork] A talk"
    assert b"second" not in made and b"first" in made


@pytest.mark.parametrize("make", [three_turns, lambda: _droid_turns()], ids=["claude", "droid"])
def test_a_byte_order_mark_hides_nothing(
        cli: InProcess, claude: Write, droid: Write, make: Callable[[], Talk]) -> None:
    talk = make()
    write = claude if isinstance(talk, ClaudeTalk) else droid
    path = write(b"\xef\xbb\xbf" + talk.bytes())
    assert texts(path) == ["first", "second", "third"]
    made = fork(cli, path)
    assert b"first" in made and b'"text":"third"' not in made and b'"content":"third"' not in made


def _droid_turns() -> DroidTalk:
    talk = DroidTalk()
    for text in ("first", "second", "third"):
        talk.turn(text)
    return talk


def test_blank_lines_and_white_space_mean_nothing(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    for at in (0, 3, 3, 6, len(talk.lines)):
        talk.lines.insert(at, b"" if at % 2 else b"  \t ")
    path = claude(b"\n\n" + talk.bytes() + b"\n \n\n")
    assert texts(path) == ["first", "second", "third"]
    assert len(events(fork(cli, path))) == 6


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n\n", b"\0", b"{", b"}", b"\xff\xfe", b"null\n", b"[]\n"])
def test_a_file_without_a_conversation_has_no_prompts(
        cli: InProcess, claude: Write, droid: Write, data: bytes) -> None:
    cli.init()
    for path in (claude(data), droid(data)):
        assert texts(path) == [] and chain_of(path) == []
        assert cli.run("sessions", "show", str(path), "--json").data["turns"] == []
        assert cli.run("back", "--session", str(path)).code == 12
        assert list(path.parent.glob("*.jsonl")) == [path] and path.read_bytes() == data


# Sizes

@pytest.mark.slow
@pytest.mark.parametrize("where", ["prompt", "answer", "result", "unknown"])
def test_a_line_of_megabytes_is_a_line_like_any_other(cli: InProcess, claude: Write, where: str) -> None:
    much, talk = "word " * (MEGABYTES // 5), ClaudeTalk()
    talk.turn("first")
    talk.prompt(much if where == "prompt" else "second")
    talk.answer(much if where == "answer" else "short")
    talk.tool("Bash", much if where == "result" else "short")
    if where == "unknown":
        talk.add({"type": "of-a-later-version", "data": much})
    talk.turn("third")
    path = claude(talk.bytes())
    assert [text[:20] for text in texts(path)] == ["first", talk_text(where, much)[:20], "third"]
    assert len(events(fork(cli, path))) == len(chain_of(path)) - 3


def talk_text(where: str, much: str) -> str:
    return much if where == "prompt" else "second"


def test_many_short_lines_are_read_across_every_chunk(claude: Write) -> None:
    """Line ends fall on every place of a chunk, whatever its size."""
    talk = ClaudeTalk()
    for number in range(300):
        talk.turn("é" * (number % 70) + str(number))
    path = claude(talk.bytes())
    index = _index(path)
    assert [turn.prompt for turn in index.turns] == ["é" * (n % 70) + str(n) for n in range(300)]
    assert [turn.offset for turn in index.turns] == [talk.offset(3 * n) for n in range(300)]
    for n in (1, 2, 150, 299, 300):
        assert find_boundary_by_user_prompts(str(path), n).boundary == talk.offset(3 * (300 - n))


@pytest.mark.parametrize("bits", [12, 13, 14, 15, 16, 17, 18, 20])
def test_a_prompt_that_starts_at_the_edge_of_a_chunk_is_found(claude: Write, bits: int) -> None:
    """Counted from the end, where a reader that goes backwards lays its edges."""
    for size in (2**bits - 1, 2**bits, 2**bits + 1):
        talk = ClaudeTalk()
        talk.turn("first")
        talk.prompt("at the edge")
        rest = len(talk.lines[-1]) + len(compact({"type": "filler", "data": ""})) + 2
        talk.add({"type": "filler", "data": "x" * (size - rest)})
        path = claude(talk.bytes())
        assert path.stat().st_size - talk.offset(3) == size
        assert texts(path) == ["first", "at the edge"]


# Bytes that are no text, JSON that is no message

def _known(found: list[str]) -> list[str]:
    return [text for text in found if text in ("first", "second", "third", "last")]


def test_nul_bytes_and_invalid_utf8_are_no_reason_to_stop(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    talk.lines.insert(3, b"\0" * 4096)
    talk.lines.insert(7, b'{"type":"user","message":{"content":"\xff\xfe\xc3"}}')
    talk.lines.append(b"\0\0\0")
    path = claude(talk.bytes())
    assert _known(texts(path)) == ["first", "second", "third"]
    assert fork(cli, path).startswith(talk.lines[0])


def test_a_prompt_with_invalid_utf8_inside_can_be_shown_and_cut(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    talk.prompt("latin: caf?")
    talk.lines[-1] = talk.lines[-1].replace(b"caf?", b"caf\xe9")
    talk.answer("odd")
    path = claude(talk.bytes())
    assert texts(path)[:3] == ["first", "second", "third"]
    assert cli.run("sessions", "show", str(path), "--json").code == 0
    fork(cli, path)


def test_half_a_surrogate_pair_can_be_shown_and_cut(cli: InProcess, claude: Write) -> None:
    talk = ClaudeTalk()
    talk.turn("first")
    talk.prompt("half: HERE", timestamp="HERE")
    talk.lines[-1] = talk.lines[-1].replace(b"HERE", b"\\ud83d")
    talk.title("HERE")
    talk.lines[-1] = talk.lines[-1].replace(b"HERE", b"\\udc00")
    path = claude(talk.bytes())
    assert texts(path)[0] == "first" and len(texts(path)) == 2
    shown = cli.run("sessions", "show", str(path), "--json")
    assert shown.code == 0 and len(shown.data["turns"]) == 2
    assert cli.run("sessions", "show", str(path)).code == 0
    assert all(json.loads(line) for line in fork(cli, path).splitlines())


BREAKERS = {
    "open-lists": b"[" * 200_000,
    "open-objects": b'{"a":' * 200_000,
    "deep-lists": b"[" * 200_000 + b"]" * 200_000,
    "deep-message": b'{"type":"user","message":' + b'{"content":' * 100_000 + b"1" + b"}" * 100_001,
    "huge-integer": b'{"type":"user","n":' + b"9" * 10_000 + b"}",
    "huge-float": b'{"type":"user","n":1e999999}',
    "nan": b"NaN",
    "infinity": b"-Infinity",
    "nan-inside": b'{"type":"user","message":{"content":NaN}}',
    "bare-key": b'"type":"user"',
    "quoted-key": b'"\\"type\\":\\"user\\""',
}


@pytest.mark.parametrize("line", BREAKERS.values(), ids=BREAKERS.keys())
def test_json_that_breaks_parsers_is_skipped(cli: InProcess, claude: Write, line: bytes) -> None:
    talk = three_turns()
    talk.lines.insert(3, line)
    talk.lines.append(line)
    path = claude(talk.bytes())
    assert _known(texts(path)) == ["first", "second", "third"]
    assert cli.run("sessions", "show", str(path), "--json").code == 0
    fork(cli, path)


@pytest.mark.parametrize("line", [
    b"1", b"-0.5", b"true", b"null", b'"text"', b"[]", b"{}", b'[{"type":"user"}]', b'["type","user"]',
    b'{"type":["user"]}', b'{"type":{"user":1}}', b'{"type":1}', b'{"type":"user"}', b'{"type":"message"}'])
def test_values_that_are_no_entries_mean_nothing(
        cli: InProcess, claude: Write, droid: Write, line: bytes) -> None:
    for talk, write in ((three_turns(), claude), (_droid_turns(), droid)):
        talk.lines.insert(3, line)
        talk.lines.append(line)
        path = write(talk.bytes())
        assert texts(path) == ["first", "second", "third"]
        assert cli.run("sessions", "show", str(path), "--json").code == 0
        assert b"first" in fork(cli, path)


ODD: list[Any] = [
    None, 0, 1.5, True, "", "text", "\0", "\ud800", "<system-reminder>", "<command-name>",
    [], [None], [1, "two"], ["text"], [[]], [{}], [{"type": None}], [{"type": "text"}], [{"text": "a"}],
    [{"type": "text", "text": None}], [{"type": "text", "text": 5}], [{"type": "text", "text": ["a"]}],
    [{"type": ["text"], "text": "a"}], [{"type": "image"}], [{"type": "tool_result"}, None],
    {}, {"type": "text", "text": "a"}, {"text": {"text": "a"}},
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd)[:40])
def test_a_message_of_any_shape_is_never_an_error(
        cli: InProcess, claude: Write, droid: Write, odd: Any) -> None:
    talk = three_turns()
    talk.prompt(odd)
    talk.entry("user", message=odd)
    talk.entry("assistant", message=odd)
    talk.entry("system", content=odd, subtype=odd)
    talk.entry("attachment", attachment=odd)
    talk.turn("last")
    _assert_readable(cli, claude(talk.bytes()))
    other = _droid_turns()
    other.message("user", odd)
    other.message("assistant", odd)
    other.add({"type": "message", "id": event_id(77), "message": odd})
    other.turn("last")
    _assert_readable(cli, droid(other.bytes()))


@pytest.mark.parametrize("field", ["uuid", "parentUuid", "timestamp", "isSidechain", "isMeta", "origin",
                                   "promptSource", "version", "type", "sessionId", "logicalParentUuid"])
def test_a_field_of_any_shape_is_never_an_error(claude: Write, field: str) -> None:
    for odd in ODD:
        talk = three_turns()
        talk.prompt("odd one", **{field: odd})
        talk.entry("system", subtype="compact_boundary", **{field: odd})
        talk.add({"type": "last-prompt", "explicit": odd, "leafUuid": odd})
        talk.title(odd)
        talk.title(odd, "summary")
        texts(claude(talk.bytes()))
        talk.back_to(event_id(9))
        talk.turn("last")
        assert _known(texts(claude(talk.bytes()))) == ["first", "second", "third", "last"], odd


@pytest.mark.parametrize("field", ["id", "parentId", "timestamp", "type", "compactionSummaryId"])
def test_a_field_of_droids_of_any_shape_is_never_an_error(droid: Write, field: str) -> None:
    for odd in ODD:
        talk = _droid_turns()
        talk.add({"type": "message", "id": event_id(77), "parentId": talk.here,
                  "message": {"role": "user", "content": [{"type": "text", "text": "odd one"}]}, field: odd})
        texts(droid(talk.bytes()))
        talk.turn("last")
        assert _known(texts(droid(talk.bytes()))) == ["first", "second", "third", "last"], odd


@pytest.mark.parametrize("field", ["title", "id", "sessionTitle", "parent", "version", "cwd"])
def test_a_droid_header_of_any_shape_can_be_forked(cli: InProcess, droid: Write, field: str) -> None:
    for odd in ODD:
        talk = _droid_turns()
        talk.lines[0] = compact({**json.loads(talk.lines[0]), field: odd})
        made = fork(cli, droid(talk.bytes()))
        first = json.loads(made.splitlines()[0])
        assert first["type"] == "session_start" and first["title"].startswith("[Fork]"), odd


def _assert_readable(cli: InProcess, path: Path) -> None:
    found = texts(path)
    assert found[:3] == ["first", "second", "third"] and found[-1] == "last"
    shown = cli.run("sessions", "show", str(path), "--json")
    assert shown.code == 0 and all(isinstance(turn["prompt"], str) for turn in shown.data["turns"])
    assert cli.run("sessions", "show", str(path)).code == 0
    fork(cli, path)


# Trees that are none

def test_a_uuid_that_appears_twice_keeps_the_whole_conversation(cli: InProcess, claude: Write) -> None:
    """A client that was killed while it wrote may write the same lines again."""
    talk = three_turns()
    talk.lines[3:3] = talk.lines[:3]
    path = claude(talk.bytes())
    assert list(dict.fromkeys(texts(path))) == ["first", "second", "third"]
    assert len(set(chain_of(path))) == len(chain_of(path)) == 9
    assert b'"third"' not in fork(cli, path)


def test_a_line_that_is_its_own_parent_ends_the_chain(cli: InProcess, claude: Write) -> None:
    talk = three_turns()
    own = event_id(talk._count + 1)
    talk.prompt("my own parent", parentUuid=own)
    talk.answer("a")
    talk.turn("last")
    path = claude(talk.bytes())
    assert texts(path) == ["my own parent", "last"]
    assert chain_of(path)[0] == own
    assert fork(cli, path).endswith(b"\n")


@pytest.mark.parametrize("length", [2, 5, 50])
def test_parents_that_form_a_circle_end_the_chain(claude: Write, length: int) -> None:
    talk = three_turns()
    first = talk._count + 1
    for number in range(length):
        talk.prompt(f"round {number}", parentUuid=event_id(first + (number - 1) % length))
    path = claude(talk.bytes())
    assert texts(path) == [f"round {number}" for number in range(length)]
    assert chain_of(path) == [event_id(first + number) for number in range(length)]


def test_a_circle_of_droids_ends_the_chain_too(droid: Write) -> None:
    talk = DroidTalk()
    talk.back_to(event_id(2))
    talk.prompt("round one")
    talk.prompt("round two")
    assert texts(droid(talk.bytes())) == ["round one", "round two"]


def test_a_chain_of_thousands_does_not_exhaust_the_stack(claude: Write) -> None:
    talk = ClaudeTalk()
    for number in range(5000):
        talk.prompt(f"p{number}")
    index = _index(claude(talk.bytes()))
    assert len(index.chain) == 5000 and index.turns[-1].turn == 5000


# The same lines, written by another hand

def _spaced(line: bytes) -> bytes:
    return json.dumps(json.loads(line)).encode()


def _backwards(line: bytes) -> bytes:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(part) for part in value] if isinstance(value, list) else value

    return compact(turned(json.loads(line)))


def _escaped(line: bytes) -> bytes:
    r"""Every letter of every string as `\uXXXX`: the same JSON."""
    def coded(text: str) -> str:
        return '"' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"'

    def written(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ",".join(f"{json.dumps(key)}:{written(part)}" for key, part in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(written, value)) + "]"
        return coded(value) if isinstance(value, str) else json.dumps(value)

    return written(json.loads(line)).encode()


def _padded(line: bytes) -> bytes:
    return b" \t" + json.dumps(json.loads(line), separators=(" , ", "\t:\t")).encode() + b"  "


@pytest.mark.parametrize("rewrite", [_spaced, _backwards, _padded],
                         ids=["spaces-after-colons", "keys-in-other-order", "padded"])
@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_the_way_json_is_written_does_not_matter(
        cli: InProcess, claude: Write, droid: Write, agent: str, rewrite: Callable[[bytes], bytes]) -> None:
    talk: Talk = three_turns() if agent == "claude" else _droid_turns()
    write = claude if agent == "claude" else droid
    wanted = chain_of(write(talk.bytes()))
    talk.lines = [rewrite(line) for line in talk.lines]
    path = write(talk.bytes())
    assert texts(path) == ["first", "second", "third"]
    assert chain_of(path) == wanted
    made = fork(cli, path)
    assert all(json.loads(line) for line in made.splitlines())
    assert made.splitlines()[1:3] == path.read_bytes().splitlines()[1:3]


def test_tool_results_written_with_spaces_are_no_prompts(claude: Write) -> None:
    talk = ClaudeTalk()
    talk.prompt("first")
    talk.tool("Bash", "a result")
    talk.prompt("second")
    talk.lines = [_spaced(line) for line in talk.lines]
    assert texts(claude(talk.bytes())) == ["first", "second"]


def test_a_prompt_about_tool_results_and_types_is_a_prompt(claude: Write, droid: Write) -> None:
    asked = 'why does "type":"user" carry "tool_result", "toolUseResult":{} and \\"type\\":\\"assistant\\"?'
    talk = ClaudeTalk()
    talk.turn(asked)
    talk.turn("last")
    assert texts(claude(talk.bytes())) == [asked, "last"]
    other = DroidTalk()
    other.turn(asked)
    other.turn("last")
    assert texts(droid(other.bytes())) == [asked, "last"]


def test_other_separators_of_unicode_do_not_end_a_line(cli: InProcess, claude: Write) -> None:
    asked = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven"
    talk = ClaudeTalk()
    talk.turn("first")
    talk.turn(asked)
    talk.turn("last")
    path = claude(talk.bytes())
    assert texts(path) == ["first", asked, "last"]
    assert cli.run("sessions", "show", str(path), "--json").data["turns"][1]["prompt"] == asked
