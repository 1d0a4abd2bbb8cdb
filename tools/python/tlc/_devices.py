# SPDX-License-Identifier: Apache-2.0
"""GPUs, and the emulator, on which tensors of the CPU are computed with."""

import contextlib
import contextvars
import ctypes
import itertools
import sys
import threading
import warnings
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from . import _interface as c
from ._arrays import CPU, Array, Memory, bytes_of, span_of

_serials = itertools.count()
CHECKS = {"on": 0, "off": 1, "strict": 2}


class Device:
    """A device of the C interface: `number` is that of a GPU, or CPU of an emulator."""

    def __init__(self, handle: int, number: int):
        self.handle, self.number, self.serial = handle, number, next(_serials)
        self.programs: dict = {}
        self.target: str = c.interface().device_target(handle).decode()
        self.name: str = c.interface().device_name(handle).decode()

    def synchronize(self, stream: Optional[int]) -> None:
        c.interface().check(c.interface().device_synchronize(self.handle, stream))

    def __del__(self):
        if not sys.is_finalizing():
            c.interface().device_release(self.handle)
            self.handle = 0  # memory may end after it, where both are part of a cycle


_lock = threading.Lock()
_gpus: Dict[int, Device] = {}


def gpu(number: int) -> Device:
    device = _gpus.get(number)
    if device is None:
        with _lock:
            device = _gpus.get(number)
            if device is None:
                device = _gpus[number] = Device(c.interface().object(c.interface().device_gpu(number)), number)
    return device


@c.PRINT
def _print(text, _user):
    sys.stderr.write(text.decode(errors="replace"))


def _new_emulator(target=None, check="on", seed=0, multiprocessors=0, threads=0) -> Device:
    if check not in CHECKS:
        raise c.Error(f"emulator: expected check among {', '.join(CHECKS)}, but got {check!r}")
    options = c.EmulatorOptions(target.encode() if target else None, multiprocessors, threads, CHECKS[check], seed, _print,
                                c.remember_findings, None)
    return Device(c.interface().object(c.interface().device_emulator(ctypes.byref(options))), CPU)


_usual: Optional[Device] = None
_chosen: contextvars.ContextVar = contextvars.ContextVar("tlc.emulator", default=None)


def chosen_serial() -> int:
    """Which emulator computes with tensors of the CPU: that of a `with tlc.emulator()`, or -1 for the usual one."""
    chosen = _chosen.get()
    return chosen.serial if chosen is not None else -1


def current_emulator() -> Device:
    global _usual
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    if _usual is None:
        made = _new_emulator()
        with _lock:
            _usual = _usual or made
    return _usual


@contextlib.contextmanager
def emulator(target: Optional[str] = None, check: str = "on", seed: int = 0, multiprocessors: int = 0,
             threads: int = 0) -> Iterator[Device]:
    """Within it, tensors of the CPU are computed with on an emulated GPU of these options: another `target` ("sm_100a"), the
    race check "on", "off" or "strict", another order of warps for each `seed` from 1 on. 0 means the default.

    >>> import tlc
    >>> x = tlc.tensor([[1.0, 2.0, 3.0, 4.0]], "f32")
    >>> with tlc.emulator(seed=7, multiprocessors=4) as device:
    ...     y = tlc.softmax(x)
    >>> device.name
    'emulator (sm_90a)'
    """
    device = _new_emulator(target, check, seed, multiprocessors, threads)
    token = _chosen.set(device)
    try:
        yield device
    finally:
        _chosen.reset(token)


def device_of(arrays: Dict[str, Array]) -> Device:
    """Where tensors are computed with. All are on one device."""
    first = None
    for name, array in arrays.items():
        if first is None:
            first = name
        elif array.device != arrays[first].device:
            raise c.Error(f"argument '{name}': expected a tensor on the device of '{first}', {arrays[first]}, but got {array}")
    if first is None:
        raise c.Error("expected at least one tensor, but got none")
    number = arrays[first].device
    if number != CPU:
        return gpu(number)
    _warn_of_emulation()
    return current_emulator()


_warned = False


def _warn_of_emulation() -> None:
    """Once, where the tensors may have been left on the CPU by oversight."""
    global _warned
    torch = sys.modules.get("torch")
    if _warned or torch is None or _chosen.get() is not None or not torch.cuda.is_available():
        return
    _warned = True
    warnings.warn("tensors of the CPU are computed with on an emulated GPU, which is slow; move them by .to('cuda'), or say 'with "
                  "tlc.emulator():'", RuntimeWarning, stacklevel=5)


class Staged:
    """Copies of tensors in an emulator's memory, whose checker knows what is in use there. Tensors that share memory of the
    CPU share it there, and addresses keep their alignment."""

    def __init__(self, device: Device, arrays: Sequence[Array], written: Sequence[bool], read: Sequence[bool]):
        self.device, self.arrays, self.written = device, arrays, written
        self.addresses = [array.data for array in arrays]
        self.memory: List[Memory] = []
        for begin, end, members in _overlapping(arrays):
            place = Memory(device, end - begin + 256)
            base = place.address + begin % 256
            self.memory.append(place)
            for index in members:
                self.addresses[index] = base + arrays[index].data - begin
            # Outputs alone are not copied in: the checker knows then that nothing has written them.
            if any(read[index] for index in members):
                c.interface().check(c.interface().device_copy_in(device.handle, base, begin, end - begin))

    def copy_back(self) -> None:
        for array, address, written in zip(self.arrays, self.addresses, self.written):
            if written:
                for offset, size in _runs(array):
                    c.interface().check(c.interface().device_copy_out(self.device.handle, array.data + offset, address + offset, size))


def _overlapping(arrays: Sequence[Array]) -> Iterator[Tuple[int, int, List[int]]]:
    """Ranges of bytes, and which tensors are in each."""
    spans = sorted((array.data, array.data + span_of(array), index) for index, array in enumerate(arrays) if array.data and span_of(array))
    at = 0
    while at < len(spans):
        begin, end, index = spans[at]
        members = [index]
        at += 1
        while at < len(spans) and spans[at][0] < end:
            end = max(end, spans[at][1])
            members.append(spans[at][2])
            at += 1
        yield begin, end, members


def _runs(array: Array) -> Iterator[Tuple[int, int]]:
    """Offsets and sizes in bytes of what a tensor covers without gaps."""
    if 0 in array.shape:
        return
    axes = sorted((stride, extent) for stride, extent in zip(array.strides, array.shape) if extent > 1)
    length = 1
    while axes and axes[0][0] == length:
        length *= axes.pop(0)[1]

    def walk(axes, offset):
        if not axes:
            yield offset
            return
        stride, extent = axes[-1]
        for i in range(extent):
            yield from walk(axes[:-1], offset + i * stride)

    for offset in walk(axes, 0):
        yield bytes_of(array.element, offset), bytes_of(array.element, length)


def warn_of_findings() -> None:
    text, c.found.warnings = getattr(c.found, "warnings", None), None
    if text:
        warnings.warn(text, RuntimeWarning, stacklevel=4)
