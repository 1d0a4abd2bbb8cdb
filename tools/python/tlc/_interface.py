# SPDX-License-Identifier: Apache-2.0
"""tools/libtlc/tlc.h for ctypes: structs, functions, and errors as exceptions."""

import ctypes
import enum
import os
import re
import sys
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional

I32, I64, SIZE, TEXT, ADDRESS = ctypes.c_int32, ctypes.c_int64, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
INT, DOUBLE = ctypes.c_int, ctypes.c_double


class Kind(enum.IntEnum):
    """Why a call failed: a `tlc_status`."""

    INVALID_ARGUMENT = 1  #: the caller passed something wrong
    ENVIRONMENT = 2  #: a driver, a device or a file is missing or too old
    EXECUTION = 3  #: the kernel failed: a race, a deadlock, an access out of bounds
    INTERNAL = 4  #: an error of tlc itself, worth a report


class Place(NamedTuple):
    """A line of a source file."""

    file: str
    line: int
    column: int


LOCATION = re.compile(r"^ *(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): ", re.M)


class Error(RuntimeError):
    """A failure of tlc. `kind` is a `Kind`, `text` the message, and `file`, `line` and `column` the first place in a source file
    that a line of it begins with, or None.

    >>> import tlc
    >>> try:
    ...     tlc.ops.softmax_typo
    ... except tlc.Error as error:
    ...     print(error.kind.name, "nearest: softmax" in error.text)
    INVALID_ARGUMENT True
    """

    def __init__(self, text: str, kind: Kind = Kind.INVALID_ARGUMENT, place: Optional[Place] = None):
        super().__init__(text)
        self.text, self.kind = text, kind
        self.file: Optional[str] = place.file if place else None
        self.line: Optional[int] = place.line if place else None
        self.column: Optional[int] = place.column if place else None


class RaceError(Error):
    """Two accesses of a kernel that nothing orders, found by the emulator. `places` has the source lines of both, the later
    access first; `file` and `line` are the first one's."""

    def __init__(self, text: str, places: List[Place]):
        super().__init__(text, Kind.EXECUTION, places[0] if places else None)
        self.places = places


class Tensor(ctypes.Structure):
    _fields_ = [("data", ADDRESS), ("element", I32), ("rank", I32), ("shape", ctypes.POINTER(I64)), ("strides", ctypes.POINTER(I64))]


class Scalar(ctypes.Structure):
    _fields_ = [("element", I32), ("bits", ctypes.c_uint64)]


class Rank(ctypes.Structure):
    _fields_ = [("program", ADDRESS), ("tensors", ctypes.POINTER(Tensor)), ("workspaces", ctypes.POINTER(ADDRESS)), ("stream", ADDRESS)]


class MemoryHandle(ctypes.Structure):
    _fields_ = [("allocation", ctypes.c_ubyte * 64), ("offset", ctypes.c_uint64)]


class Sized(ctypes.Structure):
    """A struct whose first member is its size."""

    def __init__(self, *values):
        super().__init__(ctypes.sizeof(type(self)), *values)


class OldCompileOptions(Sized):
    """Of versions 6 and 7."""

    _fields_ = [("size", SIZE), ("target", TEXT), ("wait_limit", DOUBLE)]


class CompileOptions(Sized):
    _fields_ = [*OldCompileOptions._fields_, ("device", ADDRESS), ("file", ADDRESS)]


PRINT = ctypes.CFUNCTYPE(None, TEXT, ADDRESS)


class Finding(ctypes.Structure):
    _fields_ = [("kind", I32), ("is_warning", I32), ("message", TEXT), ("file", TEXT), ("line", I32), ("column", I32), ("before_file", TEXT),
                ("before_line", I32), ("before_column", I32)]


FINDING_RACE, FINDING_PROXY_RACE = 0, 1


class Findings(ctypes.Structure):
    _fields_ = [("size", SIZE), ("errors", ctypes.c_uint64), ("warnings", ctypes.c_uint64), ("text", TEXT), ("all", ctypes.POINTER(Finding)),
                ("count", I32)]


ON_FINDINGS = ctypes.CFUNCTYPE(None, ctypes.POINTER(Findings), ADDRESS)


class EmulatorOptions(Sized):
    _fields_ = [("size", SIZE), ("target", TEXT), ("multiprocessors", I32), ("threads", I32), ("check", I32),
                ("schedule_seed", ctypes.c_uint64), ("print", PRINT), ("on_findings", ON_FINDINGS), ("user", ADDRESS)]


class FileOptions(Sized):
    _fields_ = [("size", SIZE), ("compiler", TEXT), ("flags", ctypes.POINTER(TEXT)), ("flag_count", I32), ("seconds", I32)]


class KernelInfo(Sized):
    _fields_ = [("size", SIZE), ("name", TEXT), ("summary", TEXT), ("parameter_count", I32)]


class ParameterInfo(Sized):
    _fields_ = [("size", SIZE), ("name", TEXT), ("allowed", TEXT), ("fallback", TEXT), ("description", TEXT)]


class ArgumentInfo(Sized):
    _fields_ = [("size", SIZE), ("name", TEXT), ("element", I32), ("access", I32), ("rank", I32), ("symmetric", I32)]


class ExtentInfo(Sized):
    _fields_ = [("size", SIZE), ("dimension", TEXT), ("least", I64), ("most", I64), ("multiple_of", I64)]


class ErrorInfo(Sized):
    _fields_ = [("size", SIZE), ("status", I32), ("text", TEXT), ("file", TEXT), ("line", I32), ("column", I32)]


class CacheEvent(ctypes.Structure):
    _fields_ = [("size", SIZE), ("kind", I32), ("program", TEXT), ("target", TEXT), ("milliseconds", DOUBLE), ("code", I32)]


ON_EVENT = ctypes.CFUNCTYPE(None, ctypes.POINTER(CacheEvent), ADDRESS)


class OldCacheOptions(Sized):
    """Of versions 8 to 10."""

    _fields_ = [("size", SIZE), ("folder", TEXT), ("bytes", ctypes.c_uint64), ("use", I32), ("on_event", ON_EVENT), ("user", ADDRESS)]


class CacheOptions(Sized):
    _fields_ = [*OldCacheOptions._fields_, ("ptx_only", I32)]


class ExchangeOptions(Sized):
    _fields_ = [("size", SIZE), ("api", ADDRESS), ("types", ctypes.py_object), ("given", ctypes.py_object), ("made", ctypes.py_object),
                ("sources", ctypes.POINTER(I32))]


class ExchangeFunctionOptions(Sized):
    _fields_ = [("size", SIZE), ("makers", ctypes.py_object), ("like", ctypes.POINTER(I32)), ("modes", ctypes.py_object),
                ("tracked", ctypes.py_object), ("attribute", ctypes.py_object), ("refused", ctypes.py_object), ("note", ctypes.py_object),
                ("written", ctypes.POINTER(I32)), ("written_count", I32), ("owner", ctypes.py_object)]


class BoundFunctionOptions(Sized):
    _fields_ = [("size", SIZE), ("api", ADDRESS), ("refused", ctypes.py_object), ("after", ctypes.py_object), ("owner", ctypes.py_object)]


class Handle:
    """An object of the library, released with the last function that uses it; keeps what it borrows."""

    def __init__(self, address: int, release: Callable[[int], None], *kept: Any):
        self.address, self.release, self.kept = address, release, kept

    def __del__(self, is_finalizing=sys.is_finalizing):  # globals may be gone
        if getattr(self, "address", None) and not is_finalizing():
            self.release(self.address)


TENSORS, TEXTS, SIZES, ADDRESSES = ctypes.POINTER(Tensor), ctypes.POINTER(TEXT), ctypes.POINTER(SIZE), ctypes.POINTER(ADDRESS)
INTS, I64S = ctypes.POINTER(INT), ctypes.POINTER(I64)
LAUNCH = (TENSORS, INT, ADDRESS, INT, ADDRESSES, INT)

#: Of each version of the interface: name, result, arguments.
FUNCTIONS: Dict[int, tuple] = {
    2: (("tlc_last_error", TEXT), ("tlc_compile", ADDRESS, TEXT, TEXTS, TEXTS, INT, TEXT),
        ("tlc_workspace", INT, ADDRESS, TENSORS, INT, SIZES, INT), ("tlc_launch", INT, ADDRESS, *LAUNCH, ADDRESS),
        ("tlc_release", None, ADDRESS)),
    4: (("tlc_connect", INT, ADDRESSES, INT), ("tlc_rank_workspace", INT, ADDRESS, INT, INT, TENSORS, INT, SIZES, INT),
        ("tlc_launch_ranks", INT, ctypes.POINTER(Rank), INT, INT, ADDRESS, INT, INT)),
    5: (("tlc_symmetric_arguments", INT, ADDRESS, INTS, INT), ("tlc_export_memory", INT, ADDRESS, ctypes.POINTER(MemoryHandle)),
        ("tlc_import_memory", INT, ctypes.POINTER(MemoryHandle), ADDRESSES),
        ("tlc_close_memory", INT, ctypes.POINTER(MemoryHandle), ADDRESS), ("tlc_group_create", ADDRESS, INT, INT, ADDRESSES, SIZE),
        ("tlc_group_add", INT, ADDRESS, ADDRESSES, SIZE), ("tlc_group_launch", INT, ADDRESS, ADDRESS, *LAUNCH, ADDRESS),
        ("tlc_group_synchronize", INT, ADDRESS, ADDRESS, DOUBLE), ("tlc_group_release", None, ADDRESS)),
    6: (("tlc_compile_with", ADDRESS, TEXT, TEXTS, TEXTS, INT, ADDRESS), ("tlc_nccl_version", INT, TEXT),
        ("tlc_nccl_create_id", INT, TEXT, ADDRESS), ("tlc_communicator_create", ADDRESS, TEXT, INT, INT, ADDRESS, DOUBLE),
        ("tlc_communicator_check_peers", INT, ADDRESS), ("tlc_communicator_group", ADDRESS, ADDRESS),
        ("tlc_communicator_workspace", INT, ADDRESS, TEXT, TENSORS, INT, SIZES),
        ("tlc_communicator_launch", INT, ADDRESS, TEXT, TENSORS, INT, ADDRESS, SIZE, ADDRESS),
        ("tlc_communicator_synchronize", INT, ADDRESS, ADDRESS), ("tlc_communicator_release", None, ADDRESS),
        ("tlc_group_share", INT, ADDRESS, ADDRESS, SIZE)),
    7: (("tlc_communicator_is_faster", INT, ADDRESS, TEXT, TENSORS, INT, INTS),),
    8: (("tlc_tensor_of_dlpack", INT, ADDRESS, TENSORS, I64S), ("tlc_device_gpu", ADDRESS, INT),
        ("tlc_device_emulator", ADDRESS, ctypes.POINTER(EmulatorOptions)), ("tlc_device_target", TEXT, ADDRESS),
        ("tlc_device_name", TEXT, ADDRESS), ("tlc_device_allocate", INT, ADDRESS, SIZE, ADDRESSES),
        ("tlc_device_free", INT, ADDRESS, ADDRESS), ("tlc_device_copy_in", INT, ADDRESS, ADDRESS, ADDRESS, SIZE),
        ("tlc_device_copy_out", INT, ADDRESS, ADDRESS, ADDRESS, SIZE), ("tlc_device_synchronize", INT, ADDRESS, ADDRESS),
        ("tlc_device_release", None, ADDRESS), ("tlc_file_open", ADDRESS, TEXT, ctypes.POINTER(FileOptions)),
        ("tlc_file_release", None, ADDRESS), ("tlc_kernel_count", INT, ADDRESS),
        ("tlc_kernel_of", INT, ADDRESS, INT, ctypes.POINTER(KernelInfo)),
        ("tlc_parameter_of", INT, ADDRESS, INT, INT, ctypes.POINTER(ParameterInfo)),
        ("tlc_argument_count", INT, ADDRESS), ("tlc_argument_of", INT, ADDRESS, INT, ctypes.POINTER(ArgumentInfo)),
        ("tlc_extent_of", INT, ADDRESS, INT, INT, ctypes.POINTER(ExtentInfo)), ("tlc_set_cache", INT, ADDRESS),
        ("tlc_prewarm", INT, TEXT, TEXT), ("tlc_bind", ADDRESS, ADDRESS, *LAUNCH), ("tlc_bound_set_address", INT, ADDRESS, INT, ADDRESS),
        ("tlc_bound_launch", INT, ADDRESS, ADDRESS), ("tlc_bound_release", None, ADDRESS)),
    9: (("tlc_last_status", INT), ("tlc_shape_of", INT, ADDRESS, INT, TEXTS, I64S, INT, I64S, INT)),
    10: (("tlc_exchange_create", ADDRESS, ADDRESS, TENSORS, INT, ADDRESS, INT, ctypes.POINTER(ExchangeOptions)),
         ("tlc_exchange_launch", INT, ADDRESS, ctypes.py_object, ctypes.py_object), ("tlc_exchange_release", None, ADDRESS),
         ("tlc_bound_launch_current", INT, ADDRESS, ADDRESS)),
    11: (("tlc_last_error_info", INT, ctypes.POINTER(ErrorInfo)),),
    12: (("tlc_bound_set_addresses", INT, ADDRESS, INT, ADDRESSES, INT),),
    13: (("tlc_exchange_function", ADDRESS, ADDRESS, ctypes.POINTER(ExchangeFunctionOptions)),
         ("tlc_bound_function", ADDRESS, ADDRESS, ctypes.POINTER(BoundFunctionOptions)), ("tlc_set_tuning", INT, TEXT)),
}
#: Functions that ask objects of Python, for which they need the interpreter's lock.
LOCKED = ("tlc_exchange_create", "tlc_exchange_launch", "tlc_exchange_function", "tlc_bound_launch_current", "tlc_bound_function")
OLDEST, NEWEST = min(FUNCTIONS), max(FUNCTIONS)
#: What calls of this package need; later functions are probed.
NEEDED = 8


class Interface:
    """The functions of a loaded libtlc.so; `version` says which of them there are."""

    def __init__(self, path: str):
        self.path = os.path.abspath(path)
        try:
            loaded = ctypes.CDLL(self.path)
        except OSError as error:
            raise Error(f"cannot load libtlc: {error}", Kind.ENVIRONMENT) from None
        if not hasattr(loaded, "tlc_version"):
            raise Error(f"expected libtlc, but '{self.path}' has no tlc_version", Kind.ENVIRONMENT)
        self.version: int = loaded.tlc_version()
        if self.version < OLDEST:
            raise Error(f"expected version {OLDEST} or later of the C interface, but '{self.path}' has {self.version}", Kind.ENVIRONMENT)
        locked = ctypes.PyDLL(self.path)
        for since, functions in FUNCTIONS.items():
            for name, result, *arguments in functions if self.version >= since else ():
                function = getattr(locked if name in LOCKED else loaded, name)
                function.restype, function.argtypes = result, arguments
                setattr(self, name[len("tlc_"):], function)
        self.loaded = loaded

    def __getattr__(self, name: str) -> Any:
        """A function that this library does not have."""
        since = next((since for since, functions in FUNCTIONS.items() for one in functions if one[0] == f"tlc_{name}"), None)
        if since is None:
            raise AttributeError(name)
        raise Error(f"tlc_{name} needs version {since} of the C interface, but '{self.path}' has {self.version}", Kind.ENVIRONMENT)

    def error(self) -> Error:
        """The last failure on this thread. A race that the emulator has found is one of its own class."""
        text = self.last_error().decode(errors="replace")
        kind = Kind(self.last_status()) if self.version >= 9 else Kind.INVALID_ARGUMENT
        places, found.races = getattr(found, "races", None), None
        return RaceError(text, places) if places and kind == Kind.EXECUTION else Error(text, kind, self._place(text))

    def _place(self, text: str) -> Optional[Place]:
        if self.version < 11:
            match = LOCATION.search(text)
            return Place(match["file"], int(match["line"]), int(match["column"])) if match else None
        info = ErrorInfo()
        if self.last_error_info(ctypes.byref(info)) != 0 or info.file is None:
            return None
        return Place(info.file.decode(errors="replace"), info.line, info.column)

    def check(self, status: int) -> None:
        if status != 0:
            raise self.error()

    def number(self, given: int) -> int:
        """A result that is negative on failure."""
        if given < 0:
            raise self.error()
        return given

    def object(self, address: Optional[int]) -> int:
        """A result that is null on failure."""
        if not address:
            raise self.error()
        return address

    def function(self, address: Optional[int]) -> Any:
        """A function of Python, of which the library has given a reference."""
        found = ctypes.cast(self.object(address), ctypes.py_object).value
        _release(found)
        return found


_release = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_DecRef", ctypes.pythonapi))

#: What the emulator has found in the launch on this thread.
found = threading.local()


@ON_FINDINGS
def remember_findings(findings, _user):
    # Called within a launch. An exception would be printed and lost.
    if findings[0].warnings and not findings[0].errors:
        found.warnings = findings[0].text.decode(errors="replace")
    if findings[0].size < ctypes.sizeof(Findings):  # before version 9
        return
    races = [one for one in findings[0].all[:findings[0].count] if not one.is_warning and one.kind in (FINDING_RACE, FINDING_PROXY_RACE)]
    if races:
        first = races[0]
        places = [Place(first.file.decode(), first.line, first.column), Place(first.before_file.decode(), first.before_line, first.before_column)]
        found.races = [place for place in places if place.line > 0]


def texts(values) -> ctypes.Array:
    return (TEXT * len(values))(*[value.encode() for value in values])


def addresses(values) -> ctypes.Array:
    return (ADDRESS * len(values))(*values)


def candidates() -> List[str]:
    """Where libtlc.so may be: next to this package in a wheel, in an archive for a GPU, in a build of this source tree."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = ("lib", "../../lib", "../../../build/portable/lib", "../../../build/lib")
    return [os.path.normpath(os.path.join(here, folder, "libtlc.so")) for folder in folders]


def find_library() -> Optional[str]:
    """The path of libtlc.so, of several builds the last one; None where there is none."""
    built = [path for path in candidates() if os.path.exists(path)]
    return max(built, key=os.path.getmtime) if built else None


_lock = threading.Lock()
_interface: Optional[Interface] = None


def use_library(path: str) -> None:
    """Takes this libtlc.so instead of the package's own; before the first call."""
    global _interface
    with _lock:
        if _interface is not None:
            raise Error(f"expected use_library before the first call, but '{_interface.path}' is loaded")
        loaded = Interface(path)
        if loaded.version < NEEDED:
            raise Error(f"expected version {NEEDED} or later of the C interface, but '{path}' has {loaded.version}; install the package and "
                        "the library of one version", Kind.ENVIRONMENT)
        _interface = loaded


def interface() -> Interface:
    """The library of this package, loaded by the first call."""
    if _interface is not None:
        return _interface
    path = find_library()
    if path is None:
        raise Error(f"expected libtlc.so in one of {', '.join(candidates())}, but found none; build the target tlc_shared, or install the "
                    "wheel of tools/wheel.sh", Kind.ENVIRONMENT)
    try:
        use_library(path)
    except Error:
        if _interface is None:  # else another thread was first
            raise
    return interface()
