"""What the scripted model does at each prompt. Other prompts get a plain answer."""

from __future__ import annotations

from pathlib import Path

from mock_api import Reply, Script, call, say

PLAIN = ["WRITE", "SHELL", "PAIR", "EDIT"]


def prompt(name: str) -> str:
    return f"PROMPT-{name} please"


def claude_script(project: Path) -> Script:
    note = str(project / "note.txt")
    return {
        "PROMPT-WRITE": [_does(call("Write", file_path=note, content="first\n")), say("Written.")],
        "PROMPT-SHELL": [_does(_bash("echo by-shell > made.txt; echo made-by-shell")), say("Made.")],
        "PROMPT-PAIR": [_does(_bash("echo left-result"), _bash("echo right-result")), say("Both done.")],
        "PROMPT-EDIT": [_does(call("Edit", file_path=note, old_string="first", new_string="second")),
                        say("Edited.")],
        "PROMPT-HARM": [_does(_bash("cd .agent && rm -rf rewind")), say("Could not.")],
        "PROMPT-STUCK": [_does(_bash("echo half > half.txt")), say("Never.")._replace(held=True)],
        # Held until the test releases it.
        "PROMPT-HELD": [say("At last.")._replace(held=True)],
    }


def droid_script(project: Path) -> Script:
    note = str(project / "note.txt")
    return {
        "PROMPT-WRITE": [_does(call("Create", file_path=note, content="first\n")), say("Written.")],
        "PROMPT-SHELL": [_does(_execute("echo by-shell >> note.txt; echo by-shell > made.txt")),
                         say("Made.")],
        "PROMPT-PAIR": [_does(_execute("echo left-result"), _execute("echo right-result")),
                        say("Both done.")],
        "PROMPT-EDIT": [_does(call("Read", file_path=note)),
                        _does(call("Edit", file_path=note, old_str="first", new_str="second")),
                        say("Edited.")],
        # Droid compacts by itself when an answer says that the conversation has grown too long.
        "PROMPT-LONG": [say("Long.", input_tokens=900_000)],
    }


def codex_script() -> Script:
    return {
        "PROMPT-WRITE": [_does(_patch("Add File: note.txt", "+first")), say("Written.")],
        "PROMPT-SHELL": [_does(_exec("echo by-shell > made.txt; echo made-by-shell")), say("Made.")],
        "PROMPT-PAIR": [_does(_exec("echo left-result"), _exec("echo right-result")), say("Both done.")],
        "PROMPT-EDIT": [_does(_patch("Update File: note.txt", "@@", "-first", "+second")), say("Edited.")],
        "PROMPT-HARM": [_does(_exec("rewind back 1 --both")), say("Could not.")],
        "CONTEXT CHECKPOINT COMPACTION": [say("SUMMARY of what was said")],
    }


def opencode_script(project: Path) -> Script:
    note = str(project / "note.txt")

    def bash(command: str) -> dict[str, object]:
        return call("bash", command=command, description="try")

    return {
        "PROMPT-WRITE": [_does(call("write", filePath=note, content="first\n")), say("Written.")],
        "PROMPT-SHELL": [_does(bash("echo by-shell > made.txt; echo made-by-shell")), say("Made.")],
        "PROMPT-PAIR": [_does(bash("echo left-result"), bash("echo right-result")), say("Both done.")],
        "PROMPT-EDIT": [_does(call("edit", filePath=note, oldString="first", newString="second")),
                        say("Edited.")],
        "PROMPT-HARM": [_does(bash("rewind back 1 --both")), say("Could not.")],
    }


def gemini_script(project: Path) -> Script:
    note = str(project / "note.txt")
    return {
        "PROMPT-WRITE": [_does(call("write_file", file_path=note, content="first\n")), say("Written.")],
        "PROMPT-SHELL": [_does(_run("echo by-shell > made.txt; echo made-by-shell")), say("Made.")],
        "PROMPT-PAIR": [_does(_run("echo left-result"), _run("echo right-result")), say("Both done.")],
        "PROMPT-EDIT": [_does(call("replace", file_path=note, instruction="the next", old_string="first",
                                   new_string="second")), say("Edited.")],
        "PROMPT-HARM": [_does(_run("rewind back 1 --both")), say("Could not.")],
    }


def _run(command: str) -> dict[str, object]:
    return call("run_shell_command", command=command, description="try")


def _patch(*lines: str) -> dict[str, object]:
    text = "\n".join(["*** Begin Patch", f"*** {lines[0]}", *lines[1:], "*** End Patch"])
    return {"type": "tool_use", "name": "apply_patch", "input": text}


def _exec(command: str) -> dict[str, object]:
    return call("exec_command", cmd=command)


def _does(*calls: dict[str, object]) -> Reply:
    return Reply(list(calls))


def _bash(command: str) -> dict[str, object]:
    return call("Bash", command=command, description="try")


def _execute(command: str) -> dict[str, object]:
    return call("Execute", summary="try", command=command, riskLevelReason="harmless", riskLevel="low")
