# SPDX-License-Identifier: Apache-2.0
"""tuned_library.py <libtlc> <line of tuning> <folder>: whether the C interface fills open parameters by a line, with other values
written to the folder."""

import ctypes
import json
import os
import sys

from softmax_by_name import Options, opened

VALUES = {"cluster": 1, "warps": 8}
SIZES = {"rows": 64, "columns": 512}


def code(library, **parameters):
    """The bytes of the program."""
    texts = {name.encode(): str(value).encode() for name, value in {**SIZES, **parameters}.items()}
    names, values = (ctypes.c_char_p * len(texts))(*texts), (ctypes.c_char_p * len(texts))(*texts.values())
    options = Options(ctypes.sizeof(Options), None, 0, library.own_device, None)
    program = ctypes.c_void_p(library.tlc_compile_with(b"softmax", names, values, len(texts), ctypes.byref(options)))
    if not program:
        sys.exit(library.tlc_last_error().decode())
    size = ctypes.c_size_t()
    library.tlc_program_save(program, None, ctypes.c_size_t(0), ctypes.byref(size))
    room = ctypes.create_string_buffer(size.value)
    library.tlc_program_save(program, room, size, ctypes.byref(size))
    library.tlc_release(program)
    return room.raw


def main():
    path, line, folder = sys.argv[1:]
    with open(line) as file:
        tuned = json.loads(file.readline())
    tuned["values"] = VALUES
    os.makedirs(folder)
    with open(os.path.join(folder, "any.jsonl"), "w") as file:
        print(json.dumps(tuned), file=file)
    library = opened(path)
    own, given = code(library), code(library, **VALUES)
    print("set:", library.tlc_set_tuning(folder.encode()), "tuned:", code(library) == given != own,
          "given:", code(library, warps=4) == code(library, warps=4, cluster="auto") != given)
    print("missing:", library.tlc_set_tuning(b"/nonexistent"), library.tlc_last_error().decode())
    print("stays:", code(library) == given)
    foreign = os.path.join(folder, "foreign")
    os.makedirs(foreign)
    with open(os.path.join(foreign, "any.jsonl"), "w") as file:
        print(json.dumps({**tuned, "device": "another"}), file=file)
    print("foreign:", library.tlc_set_tuning(foreign.encode()), code(library) == own)
    print("none:", library.tlc_set_tuning(None), code(library) == own)


if __name__ == "__main__":
    main()
