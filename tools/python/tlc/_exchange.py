# SPDX-License-Identifier: Apache-2.0
"""Calls like an earlier one, in one function of libtlc: it reads the tensors by the exchange API of their library, which DLPack 1.2
has for C, compares them with those of the earlier call, has results made, and launches on that library's current stream."""

import ctypes
import sys
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

from . import _interface as c
from ._interface import interface

ATTRIBUTE, CAPSULE = "__dlpack_c_exchange_api__", b"dlpack_exchange_api"
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


class Exchange(NamedTuple):
    """The exchange API of a library, and the types that it is for: not those that derive from them."""

    api: int
    types: Tuple[type, ...]
    tracking: "Tracking"
    like: Optional[Callable[[Any], Any]]  # a new tensor like this one, which takes less time than one of a given shape
    capsule: Any  # keeps it


class Tracking(NamedTuple):
    """When a launch is not all that a call on tensors of a library has to do."""

    modes: Tuple[Callable[[], Any], ...] = ()  # where one of these gives what is true
    is_on: Optional[Callable[[], Any]] = None  # where this does, and `attribute` of a tensor is true
    attribute: str = ""


#: By the exact type of a tensor.
EXCHANGES: Dict[type, Exchange] = {}


def register(types: Tuple[type, ...], tracking: Tracking = Tracking(), like: Optional[Callable[[Any], Any]] = None) -> None:
    """Finds the exchange API of a library by its type of tensors, the first one, where that has one of its own."""
    capsule = vars(types[0]).get(ATTRIBUTE)
    if capsule is not None and _is_valid(capsule, CAPSULE) and interface().version >= 13:
        exchange = Exchange(_pointer_of(capsule, CAPSULE), types, tracking, like, capsule)
        EXCHANGES.update((one, exchange) for one in types)


def refused() -> None:
    """What functions of libtlc call after a launch that failed."""
    raise interface().error()


class Repeat:
    """Launches like an earlier one, of which `tensors` are the arguments, on a GPU."""

    def __init__(self, plan: Any, exchange: Exchange, tensors: Any, given: tuple, made: Sequence[Any], framework: Any,
                 finish: Optional[Callable[[tuple, Sequence[Any]], Any]]):
        self.handle: Optional[int] = None
        self.plan, self.exchange, self.finish = plan, exchange, finish
        positions = [place for place, one in enumerate(given) if one is not None]
        sources = [-1] * plan.count
        for number, source in plan.sources:
            sources[number] = positions[source]
        for place, (number, _, _) in enumerate(plan.made):
            sources[number] = len(given) + place
        made = tuple(made)
        options = c.ExchangeOptions(exchange.api, exchange.types, given, made, (c.I32 * plan.count)(*sources))
        library = interface()
        self.handle = library.object(library.exchange_create(plan.handle, tensors, plan.count, plan.scalars, plan.scalar_count,
                                                             ctypes.byref(options)))
        makers = [self._maker(given, one, framework.maker(shape, element, plan.device.number))
                  for one, (_, element, shape) in zip(made, plan.made)]
        written = [positions[source] for source in plan.written] if framework.note_write is not None else []
        #: What the function below has without counting references: this lives as long as it is called.
        self._kept = (tuple(make for make, _ in makers), exchange.tracking.modes, sys.intern(exchange.tracking.attribute),
                      exchange.tracking.is_on, framework.note_write)
        self.call = self._function([place for _, place in makers], written)

    def _function(self, like: Sequence[int], written: Sequence[int]) -> Callable[[tuple], Optional[tuple]]:
        """What a call makes of the tuple that is given, or None where the tensors are others."""
        makers, modes, attribute, is_on, note = self._kept
        options = c.ExchangeFunctionOptions(makers, (c.I32 * len(like))(*like), modes)
        if is_on is not None:
            options.tracked, options.attribute = is_on, attribute
        if written:
            options.note, options.written, options.written_count = note, (c.I32 * len(written))(*written), len(written)
        options.refused = refused
        return interface().function(interface().exchange_function(self.handle, ctypes.byref(options)))

    def _maker(self, given: tuple, made: Any, make: Callable[[], Any]) -> Tuple[Callable[..., Any], int]:
        """What makes such a tensor, and of which one; -1: of none."""
        like = self.exchange.like
        if like is not None:
            for place, one in enumerate(given):
                if one is not None and (one.dtype, one.shape, one.stride()) == (made.dtype, made.shape, made.stride()):
                    return like, place
        return make, -1

    def __del__(self):
        if getattr(self, "handle", None) and not sys.is_finalizing():
            interface().exchange_release(self.handle)
