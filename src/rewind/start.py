"""Where an installed `rewind` begins: `bin-rewind` starts this file with nothing but Python itself."""

# Ctrl-C must not print a traceback, so no import stands outside the `try`, not even `__future__`.
try:
    import gc
    import os
    import sys
except KeyboardInterrupt:
    raise SystemExit(130)


def _start() -> None:
    gc.disable()  # the process is so short that a collection costs more than it frees
    if sys.version_info < (3, 9):  # noqa: UP036 - an interpreter that moved may be an old one
        sys.exit(f"error: Rewind needs Python 3.9 or newer; this is {sys.version.split()[0]}")
    library = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, library)
    from rewind.fast.bundle import use_bundle

    use_bundle(library)
    # At the end of the path, so that only the user interfaces spend time looking there.
    sys.path.append(os.path.join(os.path.dirname(library), "venv", "lib",
                                 f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages"))
    from rewind.cli.main import run

    run()


if __name__ == "__main__":
    try:
        _start()
    except KeyboardInterrupt:  # nothing was begun yet
        raise SystemExit(130)
