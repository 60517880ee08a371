"""A conversation on its way out: secrets are masked, what an agent needs to go on is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewind.checkpoint.share.giving.mask import PROJECT, Masker

KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
GONE = "[secret left out: github-token]"
ROOT = "/home/ann/my project"


def masked(data: Any) -> Any:
    line = Masker(ROOT, PROJECT).line(json.dumps(data).encode() + b"\n")[0]
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    return json.loads(line)


@pytest.mark.parametrize("field", ["id", "uuid", "parentUuid", "sessionId", "signature", "requestId",
                                   "promptId", "tool_use_id", "encrypted_content", "hash"])
def test_structure_is_never_masked(field: str) -> None:
    assert masked({field: KEY, "text": f"use {KEY}"}) == {field: KEY, "text": f"use {GONE}"}


def test_a_line_without_a_secret_keeps_its_bytes() -> None:
    raw = b'{ "text" : "caf\\u00e9, 3 tokens" ,"n":1.50}\n'
    assert Masker(ROOT, PROJECT).line(raw)[0] == raw


def test_a_signed_thought_is_kept_or_withheld_and_never_changed() -> None:
    clean = {"type": "thinking", "thinking": f"It is in {ROOT}/src", "signature": "abc="}
    assert masked([clean]) == [clean]
    found = masked([{**clean, "thinking": f"The key is {KEY}"}])
    assert found[0]["type"] == "text" and KEY not in json.dumps(found) and "signature" not in found[0]


def test_a_value_is_masked_because_of_its_field() -> None:
    found = masked({"input": {"password": "x8Kd02mPqw91", "user": "x8Kd02mPqw91"}})
    assert found["input"] == {"password": "[secret left out: assigned-secret]", "user": "x8Kd02mPqw91"}


def test_pictures_are_not_looked_into() -> None:
    picture = {"type": "base64", "media_type": "image/png", "data": f"AAAA {KEY} AAAA"}
    assert masked({"source": picture}) == {"source": picture}


def test_half_a_line_and_two_objects_on_one_are_masked_as_well() -> None:
    for raw in (f'{{"text": "use {KEY}'.encode(), f'{{"a": 1}}{{"text": "{KEY}"}}\n'.encode()):
        assert KEY.encode() not in Masker(ROOT, PROJECT).line(raw)[0]


@pytest.mark.parametrize(("text", "wanted"), [
    (f"{ROOT}/a.py", f"{PROJECT}/a.py"), (ROOT, PROJECT), (f"in {ROOT}.", f"in {PROJECT}."),
    (f"{ROOT}2/a.py", f"{ROOT}2/a.py"), (f"{ROOT}-old", f"{ROOT}-old"), (f"{ROOT}.bak", f"{ROOT}.bak"),
    (f"/mnt{ROOT}", f"/mnt{ROOT}"), (f"file://{ROOT}/x", f"file://{PROJECT}/x"),
])
def test_the_project_is_replaced_where_it_is_meant(text: str, wanted: str) -> None:
    assert masked({"text": text}) == {"text": wanted}


def test_there_and_back_gives_the_same_line() -> None:
    raw = json.dumps({"cwd": ROOT, "text": f"see {ROOT}/ä.py\n"}, ensure_ascii=False,
                     separators=(",", ":")).encode() + b"\n"
    out = Masker(ROOT, PROJECT).line(raw)[0]
    assert ROOT.encode() not in out
    assert Masker(PROJECT, ROOT, with_secrets=True).line(out)[0] == raw


def test_odd_text_survives() -> None:
    raw = b'{"text": "\\ud800 half, and ' + KEY.encode() + b'"}\n'
    line = Masker(ROOT, PROJECT).line(raw)[0]
    assert json.loads(line)["text"] == f"\ud800 half, and {GONE}"
