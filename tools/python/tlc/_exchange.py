# SPDX-License-Identifier: Apache-2.0
"""Calls like an earlier one, in one call of libtlc: it reads the tensors by the exchange API of their library, which DLPack 1.2 has
for C, compares them with those of the earlier call, and launches on that library's current stream."""

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
    is_launch: Callable[[tuple], bool]  # a launch is all that a call on these has to do
    like: Optional[Callable[[Any], Any]]  # a new tensor like this one, which takes less time than one of a given shape
    capsule: Any  # keeps it


#: By the exact type of a tensor.
EXCHANGES: Dict[type, Exchange] = {}


def always(_objects: tuple) -> bool:
    return True


def register(types: Tuple[type, ...], is_launch: Callable[[tuple], bool] = always, like: Optional[Callable[[Any], Any]] = None) -> None:
    """Finds the exchange API of a library by its type of tensors, the first one, where that has one of its own."""
    capsule = vars(types[0]).get(ATTRIBUTE)
    if capsule is not None and _is_valid(capsule, CAPSULE) and interface().version >= 10:
        exchange = Exchange(_pointer_of(capsule, CAPSULE), types, is_launch, like, capsule)
        EXCHANGES.update((one, exchange) for one in types)


class Repeat:
    """Launches like an earlier one, of which `tensors` are the arguments, on a GPU."""

    def __init__(self, plan: Any, exchange: Exchange, tensors: Any, given: tuple, made: Sequence[Any], framework: Any,
                 finish: Optional[Callable[[tuple, Sequence[Any]], Any]]):
        self.handle: Optional[int] = None
        self.plan, self.exchange = plan, exchange  # which outlive it
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
        #: What a call makes of what is given, or None where the tensors are others. The object lives as long as it is called.
        self.call = _caller(library, self.handle, makers, finish)
        written = [positions[source] for source in plan.written]
        if written and framework.note_write is not None:
            self.call = _noting(self.call, written, framework.note_write)

    def _maker(self, given: tuple, made: Any, make: Callable[[], Any]) -> Tuple[Callable[[Any], Any], int]:
        """What makes such a tensor, and of which one."""
        like = self.exchange.like
        if like is not None:
            for place, one in enumerate(given):
                if one is not None and (one.dtype, one.shape, one.stride()) == (made.dtype, made.shape, made.stride()):
                    return like, place
        return lambda _: make(), 0

    def __del__(self):
        if getattr(self, "handle", None) and not sys.is_finalizing():
            interface().exchange_release(self.handle)


def _noting(call: Callable[[tuple], Any], places: Sequence[int], note: Callable[[Any], None]) -> Callable[[tuple], Any]:
    def noted(given: tuple) -> Any:
        made = call(given)
        if made is not None:
            for place in places:
                note(given[place])
        return made

    return noted


def _caller(library: Any, handle: int, makers: Sequence[Tuple[Callable[[Any], Any], int]],
            finish: Optional[Callable[[tuple, Sequence[Any]], Any]]) -> Callable[[tuple], Any]:
    """A function for the usual numbers of results, whose values are all its own: it is what a call costs in Python."""
    launch = library.exchange_launch

    def refused(status: int) -> None:
        if status > 0:
            raise library.error()

    if len(makers) == 1:
        (make, place), = makers

        def one(given: tuple) -> Any:
            try:
                made = make(given[place]),
                status = launch(handle, given, made)
            except Exception:  # of the tensors' library; an ordinary call says more
                return None
            if status:
                return refused(status)
            return made if finish is None else finish(given, made)

        return one

    def any_number(given: tuple) -> Any:
        try:
            made = tuple([make(given[place]) for make, place in makers])
            status = launch(handle, given, made)
        except Exception:
            return None
        if status:
            return refused(status)
        return made if finish is None else finish(given, made)

    return any_number
