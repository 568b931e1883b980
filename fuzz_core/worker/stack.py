"""Runs a script and reports the native stack of its death; a program for the target's interpreter.

`python stack.py SCRIPT` prints one JSON line: [[function, path of its module], …], the innermost frame first. A known
place of the fault follows as the last entry, [place, ""]. The line is [] if the script does not die, and null if the
stack cannot be followed to its end. The script runs in a forked child, whose handler of fatal signals collects return
addresses and stops the process. The parent then looks the addresses up in the modules' symbol tables. The look-up takes
a fraction of a second, while a debugger first reads every symbol of every module.

Needs Linux on x86-64, numpy, and the libgcc and libstdc++ that the library itself needs.
"""

from __future__ import annotations

import builtins
import ctypes
import json
import mmap
import os
import platform
import runpy
import signal
import struct
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

DEPTH = 256
SHOWN = 64
MAX_TEXT = 48_000
FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
# The frames of the handler, and the one that the kernel has made for it.
_OWN_FRAMES = 2
_SIGNAL_STACK = 1 << 18
_ON_SIGNAL_STACK = 0x08000000
_WITH_INFO = 0x00000004
# Words that the handler stores behind the return addresses: siginfo's first three, and the stack pointer.
_TOLD = 4
_STACK_POINTER = 160
_SEGMENT_CODES = (1, 2)
_PAGE = 4096
# Large frames have many guard pages: a fault this near the stack pointer is at the stack's end.
_STACK_REACH = 1 << 20
NULL_PAGE = "(fault in the null page)"
OVERFLOW = "(fault at the end of the stack)"
WILD = "(fault at a wild address)"
FAULTS = (NULL_PAGE, OVERFLOW, WILD)
# libc starts the process and its threads.
_ROOTS = ("libc.so", "libc-", "libpthread")
_FUNCTIONS = (2, 10)

Frame = tuple[str, str]


class SignalHandler:
    """A handler of fatal signals that leaves the stack's addresses in memory shared with forked processes."""

    def __init__(self) -> None:
        self.libc = ctypes.CDLL(None)
        # The first call loads the unwinder, which a handler must not do.
        self.libc.backtrace((ctypes.c_void_p * 1)(), 1)
        self.shared = mmap.mmap(-1, (DEPTH + _TOLD) * 8)
        self.code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.stack = mmap.mmap(-1, _SIGNAL_STACK)
        code = handler(_address(self.shared), _of(self.libc.backtrace), _of(self.libc["raise"]))
        start = _address(self.code)
        self.code.write(code + unwinding(start, len(code)))
        libgcc = ctypes.CDLL("libgcc_s.so.1")
        libgcc["__register_frame"](ctypes.c_void_p(start + len(code)))
        # The unwinder sorts the handler in at its first look-up, and allocates: in a handler the heap may be locked.
        libgcc["_Unwind_Find_FDE"](ctypes.c_void_p(start + 1), (ctypes.c_void_p * 3)())

    def install(self) -> None:
        """Handle the signals on a separate stack, since the stack of the thread may be exhausted.

        An imported module may handle the signals itself, so the handlers are set again after every import.
        """
        self.libc.sigaltstack(struct.pack("@PiN", _address(self.stack), 0, _SIGNAL_STACK), None)
        self.handle()
        imported = builtins.__import__

        def importing(*arguments: Any, **named: Any) -> Any:
            try:
                return imported(*arguments, **named)
            finally:
                self.handle()

        builtins.__import__ = importing

    def handle(self) -> None:
        """Set the handler of the signals, in place of any earlier handler."""
        action = struct.pack("@P128siP", _address(self.code), b"", _ON_SIGNAL_STACK | _WITH_INFO, 0)
        for number in FATAL:
            self.libc.sigaction(int(number), action, None)

    def addresses(self) -> list[int]:
        """Return the addresses that the handler found, innermost first, each moved back into its call."""
        found = [address for address in struct.unpack_from(f"<{DEPTH}Q", self.shared) if address][_OWN_FRAMES:]
        return [address - (place > 0) for place, address in enumerate(found)]

    def signal(self) -> int:
        """Return the number of the signal that the handler has taken; 0 if it has taken none."""
        (number,) = struct.unpack_from("<i", self.shared, DEPTH * 8)
        return int(number)

    def fault(self) -> str:
        """Return the kind of the fault: NULL_PAGE, OVERFLOW or WILD; empty if the process died of another cause."""
        number, code, address, stack = struct.unpack_from("<i4xi4xQQ", self.shared, DEPTH * 8)
        if number not in (signal.SIGSEGV, signal.SIGBUS) or code <= 0:
            return ""
        # Further codes come without an address: x86 gives none if it is not canonical.
        if number == signal.SIGBUS or code not in _SEGMENT_CODES:
            return WILD
        if address < _PAGE:
            return NULL_PAGE
        return OVERFLOW if abs(address - stack) < _STACK_REACH else WILD


def handler(shared: int, backtrace: int, stop: int) -> bytes:
    """Return the machine code of a signal handler, in multiples of 8 bytes.

    The handler stores the words of the signal, calls `backtrace(shared, DEPTH)` and stops the process. No Python code
    may run in the handler, and no function of libc does this alone.
    """
    parts = (
        b"\x48\x83\xec\x08",  # sub rsp, 8
        b"\x48\xbf" + struct.pack("<Q", shared + DEPTH * 8),  # mov rdi, the words behind the addresses
        b"\x48\x8b\x06\x48\x89\x07",  # mov rax, [rsi]; mov [rdi], rax: the signal's number
        b"\x48\x8b\x46\x08\x48\x89\x47\x08",  # the same at 8: its code
        b"\x48\x8b\x46\x10\x48\x89\x47\x10",  # the same at 16: the address of a fault
        b"\x48\x8b\x82" + struct.pack("<I", _STACK_POINTER) + b"\x48\x89\x47\x18",  # [rdx + …]: the stack pointer
        b"\x48\xbf" + struct.pack("<Q", shared),  # mov rdi, shared
        b"\xbe" + struct.pack("<I", DEPTH),  # mov esi, DEPTH
        b"\x48\xb8" + struct.pack("<Q", backtrace) + b"\xff\xd0",  # mov rax, backtrace; call rax
        b"\xbf" + struct.pack("<I", signal.SIGSTOP),  # mov edi, SIGSTOP
        b"\x48\xb8" + struct.pack("<Q", stop) + b"\xff\xd0",  # mov rax, stop; call rax
        b"\x48\x83\xc4\x08\xc3",  # add rsp, 8; ret
    )
    code = b"".join(parts)
    return code + b"\xcc" * (-len(code) % 8)


def unwinding(start: int, size: int) -> bytes:
    """Return the handler's call frame information (DWARF's CIE and FDE): without it, the stack would end there."""
    rules = b"\x01\0\x01\x78\x10\x0c\x07\x10\x90\x01"  # the frame is at rsp + 16, its return address 8 below
    return struct.pack("<II10s6xIIQQI", 20, 0, rules, 20, 28, start, size, 0)


def _of(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


class Mapping(NamedTuple):
    """A piece of a module in memory."""

    start: int
    end: int
    offset: int
    path: str


def mappings(text: str) -> list[Mapping]:
    """Return the files in a process's `/proc/PID/maps`."""
    found = []
    for line in text.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and fields[5].startswith("/"):
            start, end = (int(part, 16) for part in fields[0].split("-"))
            found.append(Mapping(start, end, int(fields[2], 16), fields[5]))
    return found


class Module:
    """The symbols of an ELF file.

    Raises:
        OSError, ValueError: any other file.
    """

    def __init__(self, path: str) -> None:
        import numpy

        self.data = numpy.memmap(path, mode="r")
        if bytes(self.data[:5]) != b"\x7fELF\x02":
            raise ValueError(f"{path} is not a 64-bit ELF file")
        programs, sections, step, count, width, number = self._fields("<QQ6x4H", 32)
        self.segments = [self._fields("<II4Q", programs + i * step) for i in range(count)]
        headers = [self._fields("<II4QII", sections + i * width) for i in range(number)]
        tables = {header[1]: header for header in headers}
        table = tables.get(2) or tables[11]
        form = numpy.dtype("<u4, u1, u1, <u2, <u8, <u8")
        form.names = ("name", "info", "other", "section", "value", "size")
        symbols = self.data[table[4] : table[4] + table[5]].view(form)
        self.symbols = symbols[numpy.isin(symbols["info"] & 15, _FUNCTIONS) & (symbols["section"] != 0)]
        self.names = headers[table[6]][4]

    def _fields(self, form: str, offset: int) -> tuple[Any, ...]:
        return struct.unpack_from(form, self.data.data, offset)

    def function(self, offset: int) -> str:
        """Return the mangled name of the function that covers an offset in the file; empty if there is none."""
        address = next(
            (s[3] + offset - s[2] for s in self.segments if s[0] == 1 and s[2] <= offset < s[2] + s[5]), None
        )
        if address is None:
            return ""
        values, sizes = self.symbols["value"], self.symbols["size"]
        found = self.symbols[(values <= address) & (address - values < sizes)]
        if not len(found):
            return ""
        nearest = found[found["value"] == found["value"].max()]
        public = nearest[nearest["info"] >> 4 > 0]
        names = [self._name(symbol["name"]) for symbol in (public if len(public) else nearest)]
        # Users know the shortest of several names for one function: sgeev, SGEEV, mkl_lapack__sgeev_.
        return min(names, key=lambda name: (len(name), name.swapcase()))

    def _name(self, place: int) -> str:
        begin = self.names + int(place)
        return bytes(self.data[begin : begin + 4096]).split(b"\0", 1)[0].decode("utf-8", "replace")


@cache
def _module(path: str) -> Module | None:
    try:
        return Module(path)
    except (OSError, ValueError, KeyError, struct.error):
        return None


def frames(addresses: list[int], mapped: list[Mapping]) -> list[Frame] | None:
    """Return function and module of each address, up to MAX_TEXT; None if no thread has such a stack."""
    places = [next((m for m in mapped if m.start <= address < m.end), None) for address in addresses]
    roots = [m for m in places[-2:] if m is not None and Path(m.path).name.startswith(_ROOTS)]
    if len(addresses) < DEPTH - _OWN_FRAMES and not roots:
        return None
    demangle = _demangler()
    named: list[Frame] = []
    room = MAX_TEXT
    for address, place in zip(addresses[:SHOWN], places, strict=False):
        module = _module(place.path) if place is not None else None
        if place is None or module is None:
            continue
        frame = demangle(module.function(address - place.start + place.offset)), place.path
        room -= sum(map(len, frame))
        if room > 0:
            named.append(frame)
    return named


def _demangler() -> Any:
    function = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
    function.restype = ctypes.c_char_p

    def demangle(name: str) -> str:
        made = function(name.encode(), None, None, None) if name.startswith("_Z") else None
        return made.decode("utf-8", "replace") if made else name

    return demangle


def stack_of_death(script: str) -> list[Frame] | None:
    """Return the stack with which a script dies; None if unknown.

    The forked child returns too, with None.
    """
    watch = SignalHandler()
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        watch.install()
        sys.argv = [script]
        runpy.run_path(script, run_name="__main__")
        return None
    status = os.waitpid(pid, os.WUNTRACED)[1]
    if not os.WIFSTOPPED(status):
        return None if os.WIFSIGNALED(status) else []
    try:
        return stack_of(watch, pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def stack_of(watch: SignalHandler, pid: int) -> list[Frame] | None:
    """Return the frames of a process that the handler has stopped, and last the place of its fault, if known."""
    told = frames(watch.addresses(), mappings(Path(f"/proc/{pid}/maps").read_text()))
    fault = watch.fault()
    return [*told, (fault, "")] if told is not None and fault else told


def is_supported() -> bool:
    """Return whether this system can follow a stack: the handler is machine code."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


if __name__ == "__main__":
    print(json.dumps(stack_of_death(sys.argv[1]) if is_supported() else None))
