"""Runs git in the user's repository. Neither the environment of a hook nor the configuration of somebody
else's project decides what happens: there are no hooks, no pager, no file system monitor."""

from __future__ import annotations

import os

from rewind.errors import GitFailed

# Variables that git calls local to a repository. They could lead to another repository.
_LOCAL = ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT",
          "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
          "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
          "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE", "GIT_EXTERNAL_DIFF")
_SETTINGS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.pager=cat", "gc.auto=0",
             "maintenance.auto=false", "diff.external=", "blame.ignoreRevsFile=", "color.ui=false")


class Git:
    """`top` is the top of a work tree, `settings` are added to ours, and git may take `seconds`."""

    def __init__(self, top: bytes, settings: tuple[str, ...] = (), seconds: float | None = None) -> None:
        self.top = top
        self._seconds = seconds
        self._settings = [part for one in (*_SETTINGS, *settings) for part in ("-c", one)]
        self.env = {k: v for k, v in os.environ.items() if k not in _LOCAL
                    and not k.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))}
        self.env.update(GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0", GIT_LITERAL_PATHSPECS="1",
                        LC_ALL="C")

    def run(self, *words: str | bytes, data: bytes = b"", **env: str) -> bytes:
        """What git prints. Raises an error with git's message if it fails."""
        code, out, err = self._run(words, data, env)
        if code:
            raise GitFailed(command=_text(words[0]), reason=_reason(err) or f"it ended with status {code}")
        return out

    def ask(self, *words: str | bytes, data: bytes = b"", **env: str) -> bytes | None:
        """The same for a question. None if git says no, or cannot tell."""
        code, out, _ = self._run(words, data, env)
        return None if code else out

    def ignored(self, paths: bytes, **env: str) -> bytes:
        """Those of the paths that git ignores. Each path ends with a zero byte. Raises an error if git cannot
        tell."""
        # `check-ignore` refuses literal paths, and does not treat paths as patterns anyway.
        env["GIT_LITERAL_PATHSPECS"] = "0"
        code, out, err = self._run(("check-ignore", "-z", "--stdin"), paths, env)
        if code > 1:
            raise GitFailed(command="check-ignore", reason=_reason(err))
        return out

    def _run(self, words: tuple[str | bytes, ...], data: bytes,
             env: dict[str, str]) -> tuple[int, bytes, bytes]:
        import subprocess

        try:
            done = subprocess.run(["git", "--no-pager", *self._settings, *words], cwd=self.top, input=data,
                                  env={**self.env, **env}, capture_output=True, check=False,
                                  timeout=self._seconds)
        except OSError as error:
            raise GitFailed(command=_text(words[0]), reason=error.strerror or str(error))
        except subprocess.TimeoutExpired:
            raise GitFailed(command=_text(words[0]), reason=f"no answer in {self._seconds:g} seconds")
        return done.returncode, done.stdout, done.stderr


def _text(word: str | bytes) -> str:
    return word if isinstance(word, str) else os.fsdecode(word)


def _reason(err: bytes) -> str:
    """The line that says what is wrong, without `fatal:` or `error:`."""
    lines = [line for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    named = [line.partition(": ")[2] for line in lines if line.startswith(("fatal: ", "error: "))]
    return (named or lines[-1:] or [""])[0]
