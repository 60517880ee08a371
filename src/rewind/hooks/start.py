"""Where a hook begins: started by the shim as a file, with nothing but Python itself.

Python compiles this file each time, and no other, so it is short.
"""

import gc
import os
import sys

if __name__ == "__main__" and sys.version_info >= (3, 9):  # an interpreter that moved may be an old one
    gc.disable()  # a short life: what a collection finds is not worth looking for it
    library = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, library)
    from rewind.fast.bundle import use_bundle

    use_bundle(library)
    from rewind.hooks.entry import run

    os._exit(run(sys.argv[1:], is_own_process=True))
