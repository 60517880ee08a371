"""Where an installed `rewind` begins: started as a file, with nothing but Python itself, by `bin-rewind`."""

# Ctrl-C is no traceback from the first line on: no import stands before these, not even `__future__`.
try:
    import gc
    import os
    import sys
except KeyboardInterrupt:
    raise SystemExit(130)


def _start() -> None:
    gc.disable()  # a short life: what a collection finds is not worth looking for it
    if sys.version_info < (3, 9):  # noqa: UP036 - an interpreter that moved may be an old one
        sys.exit(f"error: Rewind needs Python 3.9 or newer; this is {sys.version.split()[0]}")
    library = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, library)
    from rewind.fast.bundle import use_bundle

    use_bundle(library)
    # Last of all: only the user interfaces look for something there, and only they pay for it.
    sys.path.append(os.path.join(os.path.dirname(library), "venv", "lib",
                                 f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages"))
    from rewind.cli.main import run

    run()


if __name__ == "__main__":
    try:
        _start()
    except KeyboardInterrupt:  # so early that nothing was begun
        raise SystemExit(130)
