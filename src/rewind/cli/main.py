"""From the command line to an exit code: finds the command, runs it, reports errors."""

from __future__ import annotations

import os
import sys

from rewind import __version__
from rewind.cli.parse.commands import ALIASES, COMMANDS, PROJECT, load_command, options_before
from rewind.errors import BUG, DONE, INTERRUPTED, RewindError, UsageError
from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from types import ModuleType

_UNDER_REMOTE = ("push", "pull", "clone")  # they may also be typed after `remote`


def run() -> None:
    try:
        from rewind.cli.output.streams import open_streams

        open_streams()
        code = main(sys.argv[1:])
    except KeyboardInterrupt:  # before `main` can report it, or while it does
        code = INTERRUPTED
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        # Skip the interpreter's shutdown, which takes a tenth of the time of a checkpoint. Every file that
        # matters is written and synced by now.
        os._exit(code)


def main(argv: list[str]) -> int:
    _make_streams_safe()
    as_json = "--json" in argv[: argv.index("--") if "--" in argv else len(argv)]
    try:
        code = _dispatch(argv)
        _flush()
        return code
    except RewindError as error:
        return _report(error, as_json, argv)
    except KeyboardInterrupt:
        return _report(_with_exit_code(INTERRUPTED, RewindError("Interrupted.")), as_json)
    except BrokenPipeError:
        # Whoever read our output has seen enough (`rewind list | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return DONE
    except OSError as error:
        return _report(_from_os(error), as_json)
    except Exception as error:
        return _report(_bug(error), as_json)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except RewindError as error:
        raise type(error)(what="The command succeeded, but its output", reason=error.fields["reason"])


def _dispatch(argv: list[str]) -> int:
    if any("\0" in word for word in argv):  # no shell can pass it, a program that calls `main` can
        raise UsageError("There is a null byte in an argument.", hint="Paths and names cannot contain one.")
    count = options_before(argv)
    before, argv = argv[:count], argv[count:]
    if before and before[-1] in PROJECT:
        raise UsageError(f"{before[-1]} needs a value.", hint="Run `rewind help` to see the commands.")
    if not argv and sys.stdin.isatty() and sys.stdout.isatty():
        argv = ["tui"]
    if not argv or argv[0] in ("-h", "--help") or argv == ["help"]:
        from rewind.cli.parse.help import print_overview

        return print_overview()
    if argv[0] in ("-V", "--version"):
        print(f"rewind {__version__}")
        return DONE
    if argv[0] == "help":
        argv[1] = ALIASES.get(argv[1], argv[1])
        if argv[1] not in COMMANDS:
            from rewind.cli.parse.help import print_topic

            return print_topic(argv[1])
        argv = [argv[1], "--help"]
    if argv[0] == "__complete":
        from rewind.cli.set_up.complete import complete

        return complete(argv[1:])
    if argv[0] == "__plugin":
        from rewind.cli.plugin.command import run as answer_plugin

        return answer_plugin([*argv[1:], *before])
    if argv[0] == "remote" and argv[1:2] and argv[1] in _UNDER_REMOTE:
        argv = argv[1:]
    name, rest = ALIASES.get(argv[0], argv[0]), [*before, *argv[1:]]
    module = load_command(name)
    from rewind.cli.parse.arguments import parse

    try:
        arguments = parse(module, name, rest)
    except SystemExit:  # argparse, after `--help`
        return DONE
    return _run(module, arguments)


def _run(module: ModuleType, arguments: argparse.Namespace) -> int:
    if not (arguments.quiet or arguments.verbose):
        code: int = module.run(arguments)
        return code
    import time

    from rewind.cli.open_and_answer import detail, verbosity

    verbosity.quiet, verbosity.verbose = arguments.quiet, arguments.verbose
    began = time.perf_counter()
    try:
        code = module.run(arguments)
    finally:
        detail(f"rewind {__version__}, Python {sys.version.split()[0]}: {sys.executable}")
        detail(f"{arguments.command} took {(time.perf_counter() - began) * 1000:.0f} ms")
        verbosity.quiet = verbosity.verbose = False
    return code


def _make_streams_safe() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        except AttributeError:
            pass  # replaced by a test or an embedding program


def _with_exit_code(exit_code: int, error: RewindError) -> RewindError:
    error.exit_code = exit_code
    return error


def _from_os(error: OSError) -> RewindError:
    from rewind.words import explain_os_error

    message, hint = explain_os_error(error)
    return RewindError(message, hint=hint)


def _report(error: RewindError, as_json: bool, argv: list[str] | None = None) -> int:
    """Print the error on stderr and return the exit code."""
    near = []
    if error.near:
        from rewind.cli.parse.usage import near_commands

        near = near_commands(error, argv or [])
    if as_json:
        body = {"code": error.code, "message": error.message, "hint": error.hint,
                "exitCode": error.exit_code}
        if near:
            body["near"] = [command for command, _ in near]
        print(quickjson.dumps({"error": body}), file=sys.stderr)
        return error.exit_code
    from rewind.cli.output.style import paint
    from rewind.words import safe
    # Both may quote a file name, which can contain anything.
    message = "\n".join(safe(line) for line in error.message.split("\n"))
    print(f"{paint('error:', 'red', sys.stderr)} {message}", file=sys.stderr)
    if near:
        widest = max(len(command) for command, _ in near)
        print(f"{paint('hint:', 'cyan', sys.stderr)} Did you mean:", file=sys.stderr)
        for command, meaning in near:
            about = paint("# " + safe(meaning), "dim", sys.stderr) if meaning else ""
            print(f"  {safe(command):<{widest}}  {about}".rstrip(), file=sys.stderr)
    elif error.hint:
        print(f"{paint('hint:', 'cyan', sys.stderr)} {safe(error.hint)}", file=sys.stderr)
    return error.exit_code


def _bug(error: Exception) -> RewindError:
    """One sentence for the person; the traceback goes to a file, for the report."""
    import traceback

    if os.environ.get("REWIND_DEBUG"):
        traceback.print_exc()
    where = _keep_traceback(traceback.format_exc())
    return _with_exit_code(BUG, RewindError(f"This is a bug in Rewind ({type(error).__name__}: {error}).",
                                            hint=f"Please report it with the details in {where}"))


def _keep_traceback(text: str) -> str:
    from rewind.files import make_private_dir
    from rewind.paths import rewind_home

    path = os.path.join(rewind_home(), "crash.log")
    try:
        make_private_dir(rewind_home())
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(fd, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"rewind {__version__}, Python {sys.version.split()[0]}\n{text}\n")
    except OSError:
        return "the terminal (run it again with REWIND_DEBUG=1)"
    return path


if __name__ == "__main__":
    run()
