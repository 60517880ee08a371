"""Adds sessions to the database of an agent, and deletes them there, with the agent's own commands.

This is only for agents whose profile names these commands (`commands.import`). For all others, a session is
its file.
"""

from __future__ import annotations

import os

from rewind.agents.profile import Profile, pick
from rewind.errors import ClientFailed, ClientMissing
from rewind.transcript.read.lines import events_forward, open_transcript

_PATIENCE = 120.0  # seconds; opencode 1.18 takes one, and a busy machine some more


def check_client(profile: Profile) -> None:
    """Refuse if the client is missing, before anything is restored."""
    command = profile.commands.get("import")
    if not command:
        return
    import shutil  # 5 ms that most agents need not pay for

    if shutil.which(command[0]) is None:
        raise ClientMissing(program=command[0], agent=profile.title)


def import_session(path: str, profile: Profile, session_id: str, folder: str) -> None:
    """Let the agent import the session that was written to this file. It then belongs to the directory in
    which the command runs: the one in which the original began, else `folder`. Importing it twice does no
    harm."""
    command = profile.commands.get("import")
    if not command:
        return
    from tempfile import TemporaryDirectory

    check_client(profile)
    with TemporaryDirectory(prefix="rewind-") as temporary:
        file = os.path.join(temporary, f"{session_id}.json")
        began = _write_export(path, file)
        where = began if os.path.isdir(began) else folder
        # The command reports success even if it took no rows. Our ids are always new.
        _run(profile, [word.replace("{file}", file) for word in command], where, session_id, "import")


def _write_export(path: str, target: str) -> str:
    """In the form of `opencode export`. Returns the directory in which the session began."""
    import json

    with open_transcript(path) as source, open(target, "w", encoding="utf-8", errors="replace") as file:
        events = events_forward(source)
        info = next(events).data["info"]
        file.write(f'{{"info":{json.dumps(info)},"messages":[')
        for number, event in enumerate(events):
            message = {"info": event.data["info"], "parts": event.data["parts"]}
            file.write(("," if number else "") + json.dumps(message))
        file.write("]}")
    return str(pick(info, "directory"))


def delete_imported(session_id: str, profile: Profile, folder: str) -> None:
    """Let the agent delete a session. If it does not have the session, that is fine."""
    command = profile.commands.get("delete")
    if not command:
        return
    check_client(profile)
    _run(profile, [word.replace("{session}", session_id) for word in command], folder, session_id, "delete",
         fine="not found")


def _run(profile: Profile, command: list[str], folder: str, session: str, what: str, fine: str = "") -> None:
    import shlex
    import shutil
    import subprocess

    try:
        done = subprocess.run([shutil.which(command[0]) or command[0], *command[1:]], cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=_PATIENCE)
        said = done.stdout.decode("utf-8", "replace").strip()
        if done.returncode == 0 or (fine and fine in said.lower()):
            return
        reason = said.splitlines()[-1][:200] if said else f"exit status {done.returncode}"
    except subprocess.TimeoutExpired:
        reason = f"no answer in {_PATIENCE:.0f} seconds"
    except OSError as error:
        reason = error.strerror or str(error)
    raise ClientFailed(agent=profile.title, what=what, session=session, reason=reason, folder=folder,
                       command=shlex.join(command))
