"""Where a hook begins: the shim starts this file with nothing but Python itself.

Python compiles this file, and no other, for each hook, so it is short.
"""

import gc
import os
import sys

if __name__ == "__main__" and sys.version_info >= (3, 9):  # an interpreter that moved may be an old one
    gc.disable()  # the process is so short that a collection costs more than it frees
    library = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, library)
    from rewind.fast.bundle import use_bundle

    use_bundle(library)
    from rewind.hooks.entry import run

    os._exit(run(sys.argv[1:], is_own_process=True))
