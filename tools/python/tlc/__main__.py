# SPDX-License-Identifier: Apache-2.0
"""`python3 -m tlc` says what is there; `python3 -m tlc run ...` is the tool `tlc`."""

import ctypes
import sys

from . import _interface as c
from ._arrays import CPU
from ._cache import cache_folder
from ._devices import gpu
from ._version import __version__


def describe() -> None:
    library = c.interface()
    print(f"tlc {__version__}, version {library.version} of the C interface, {library.path}")
    for name in ("torch", "numpy", "cupy", "jax"):
        try:
            from importlib.metadata import version
            print(f"{name} {version(name)}")
        except Exception:  # not installed: nothing to say
            pass
    try:
        device = gpu(0)
        print(f"GPU 0: {device.name} ({device.target})")
    except c.Error as error:
        print(f"no GPU: {error.text}")
    from ._devices import current_emulator
    emulator = current_emulator()
    print(f"tensors of the CPU: {emulator.name}")
    assert emulator.number == CPU
    folder = cache_folder()
    print(f"cache: {folder if folder else 'in memory only; neither XDG_CACHE_HOME nor HOME has an absolute path'}")


def tool(arguments) -> int:
    words = [b"tlc", *(argument.encode() for argument in arguments)]
    main = c.interface().loaded.tlc_main
    return main(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))


def main() -> int:
    try:
        if len(sys.argv) > 1:
            return tool(sys.argv[1:])
        describe()
        return 0
    except c.Error as error:
        print(f"tlc: {error.text}", file=sys.stderr)
        return 1


sys.exit(main())
