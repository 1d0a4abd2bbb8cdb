# SPDX-License-Identifier: Apache-2.0
"""Calls like an earlier one, in one function of libtlc: it reads the tensors by the exchange API of their library, which DLPack 1.2
has for C, compares them with those of the earlier call, has results made, and launches on that library's current stream."""

import ctypes
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
        handle = library.object(library.exchange_create(plan.handle, tensors, plan.count, plan.scalars, plan.scalar_count, ctypes.byref(options)))
        owner = c.Handle(handle, library.exchange_release)
        makers = [self._maker(given, one, framework.maker(shape, element, plan.device.number))
                  for one, (_, element, shape) in zip(made, plan.made)]
        written = [positions[source] for source in plan.written] if framework.note_write is not None else []
        modes, is_on, attribute = exchange.tracking
        owner.kept = plan, exchange, tuple(make for make, _ in makers), framework.note_write
        function = c.ExchangeFunctionOptions(owner.kept[2], (c.I32 * len(makers))(*[place for _, place in makers]), modes)
        if is_on is not None:
            function.tracked, function.attribute = is_on, attribute
        if written:
            function.note, function.written, function.written_count = framework.note_write, (c.I32 * len(written))(*written), len(written)
        function.refused, function.owner = refused, owner
        #: What a call makes of the tuple that is given, or None where the tensors are others.
        self.call: Callable[[tuple], Optional[tuple]] = library.function(library.exchange_function(handle, ctypes.byref(function)))

    def _maker(self, given: tuple, made: Any, make: Callable[[], Any]) -> Tuple[Callable[..., Any], int]:
        """What makes such a tensor, and of which one; -1: of none."""
        like = self.exchange.like
        if like is not None:
            for place, one in enumerate(given):
                if one is not None and (one.dtype, one.shape, one.stride()) == (made.dtype, made.shape, made.stride()):
                    return like, place
        return make, -1
