# SPDX-License-Identifier: Apache-2.0
"""The cache of compiled programs: what it does, and what is compiled ahead of use."""

import contextlib
import ctypes
import os
import threading
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Union

from . import _interface as c

USUAL, MEMORY, HITS_ONLY = 0, 1, 2
KINDS = ("compiled", "found in memory", "found on disk", "loaded")
CODES = ("ptx", "cubin")


class CacheEvent(NamedTuple):
    """What the cache has done: kind is "compiled", "found in memory", "found on disk" or "loaded" (on a device)."""

    kind: str
    program: str
    target: str
    milliseconds: float
    #: That the program has, or that the device has loaded: "ptx", or "cubin", which is machine code.
    code: str


_listeners: List[List[CacheEvent]] = []
_lock = threading.Lock()
_options: Dict[str, Any] = {"folder": None, "bytes": 0, "use": USUAL, "ptx_only": False}
_begun = False


@c.ON_EVENT
def _tell(event, _user):
    one = event[0]
    code = CODES[one.code] if one.size >= ctypes.sizeof(c.CacheEvent) else CODES[0]
    told = CacheEvent(KINDS[one.kind], one.program.decode(), one.target.decode(), one.milliseconds, code)
    for listener in tuple(_listeners):
        listener.append(told)


def _set(**changed) -> None:
    global _begun
    with _lock:
        _options.update(changed)
        folder = _options["folder"]
        values = os.fsencode(folder) if folder is not None else None, _options["bytes"], _options["use"], _tell, None
        if c.interface().version < 11:
            if _options["ptx_only"]:
                raise c.Error(f"expected version 11 of the C interface for ptx_only=True, but '{c.interface().path}' has {c.interface().version}",
                              c.Kind.ENVIRONMENT)
            options: ctypes.Structure = c.OldCacheOptions(*values)
        else:
            options = c.CacheOptions(*values, _options["ptx_only"])
        c.interface().check(c.interface().set_cache(ctypes.byref(options)))
        _begun = True


def begin() -> None:
    """Before the first program: from then on listeners are told."""
    if not _begun:
        _set()


def set_cache(folder: Optional[str] = None, bytes: int = 0, in_memory: bool = False, ptx_only: bool = False) -> None:
    """Keeps compiled programs in another folder, of at most so many bytes (0: 1 GiB), or in memory only. Without arguments it
    is the usual folder, $XDG_CACHE_HOME/tlc or ~/.cache/tlc, which the tool `tlc` uses, too. New entries for a GPU have machine
    code where ptxas is found, unless `ptx_only`."""
    _set(folder=folder, bytes=bytes, use=MEMORY if in_memory else USUAL, ptx_only=ptx_only)


def set_tuning(folder: Optional[str]) -> None:
    """Fills open parameters by what `tlc tune` has measured for this device, from the files of a folder (docs/tuning.md); None: no
    longer. Call it before the first kernel: programs that there are stay as they are."""
    c.interface().check(c.interface().set_tuning(os.fsencode(folder) if folder is not None else None))


def cache_folder() -> Optional[str]:
    """The folder in use; None where programs are in memory only."""
    if _options["use"] == MEMORY:
        return None
    if _options["folder"] is not None:
        return os.fspath(_options["folder"])
    for variable, rest in (("XDG_CACHE_HOME", "tlc"), ("HOME", ".cache/tlc")):
        if os.environ.get(variable, "").startswith("/"):
            return os.path.join(os.environ[variable], rest)
    return None


@contextlib.contextmanager
def compile_events() -> Iterator[List[CacheEvent]]:
    """A list to which each compilation, hit and load of the process is appended as long as the context lasts.

    >>> import tlc
    >>> with tlc.compile_events() as events:
    ...     y = tlc.softmax(tlc.tensor([[1.0] * 24], "f16"))
    >>> {event.program for event in events}
    {'softmax'}
    """
    events: List[CacheEvent] = []
    begin()
    _listeners.append(events)
    try:
        yield events
    finally:
        # By identity: two lists may be equal.
        _listeners[:] = [listener for listener in _listeners if listener is not events]


@contextlib.contextmanager
def hits_only() -> Iterator[None]:
    """Within it nothing is compiled, in the whole process: a call whose program the cache lacks is an error, which has the line
    for `tlc.prewarm`."""
    before = _options["use"]
    _set(use=HITS_ONLY)
    try:
        yield
    finally:
        _set(use=before)


def prewarm(programs: Union[str, Iterable[str]], target: Optional[str] = None) -> None:
    """Compiles programs that the cache lacks, on all cores, from lines such as "attention_fwd d=128 dtype=bf16"; errors of
    `tlc.hits_only` have them. `target` ("sm_90a") is for those that do not name one; None: the current GPU's.

    >>> import tlc
    >>> tlc.prewarm("softmax rows=8 columns=64", target="sm_90a")
    """
    begin()
    lines = programs if isinstance(programs, str) else "\n".join(programs)
    c.interface().check(c.interface().prewarm(lines.encode(), target.encode() if target else None))
