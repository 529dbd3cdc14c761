"""Tensors that other processes can open: POSIX shared memory on the CPU, CUDA IPC on a GPU (src/task/shared_tensor.h)."""

import ctypes
import mmap
import os
import re

import torch

from .dtypes import BY_NAME, item_size
from .errors import OUT_OF_MEMORY, PROTOCOL, OracleError

ALIGNMENT = 256
FOLDER = "/dev/shm"
_serial = 0


def layout(specs):
    """([byte offset of each tensor], total bytes), every tensor aligned."""
    offsets, end = [], 0
    for one in specs:
        offsets.append(end)
        count = 1
        for n in one["shape"]:
            count *= n
        end += -(-count * item_size(BY_NAME[one["dtype"]]) // ALIGNMENT) * ALIGNMENT
    return offsets, max(end, ALIGNMENT)


def element_count(spec):
    count = 1
    for n in spec["shape"]:
        count *= n
    return count


def make_arena(specs, device):
    """Memory for tensors of these specs, and the tensors in it."""
    offsets, total = layout(specs)
    arena = ShmArena.create(total) if device.type == "cpu" else CudaArena(total)
    return arena, [arena.tensor(offset, spec) for offset, spec in zip(offsets, specs)], [
        dict(spec, where=arena.where, handle=arena.handle, offset=offset) for offset, spec in zip(offsets, specs)]


def open_shared(shared, device):
    """A context-like opener for candidates' tensors: use .tensor(i) while it is open, then close()."""
    return Opened(shared, device)


class ShmArena:
    where = "shm"

    def __init__(self, handle, memory, owned):
        self.handle, self.memory, self.owned = handle, memory, owned

    @classmethod
    def create(cls, size):
        global _serial
        _serial += 1
        name = f"cutegen-{os.getpid()}-{_serial}"
        fd = os.open(os.path.join(FOLDER, name), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, size)  # a later write to a full /dev/shm would be a SIGBUS
            memory = mmap.mmap(fd, size)
        except (OSError, ValueError) as error:
            os.unlink(os.path.join(FOLDER, name))
            raise OracleError(OUT_OF_MEMORY, f"out of memory while sharing {size} bytes of tensors ({FOLDER}: {error})",
                              "the task needs more shared memory than this machine has") from error
        finally:
            os.close(fd)
        return cls("/" + name, memory, True)

    @classmethod
    def open(cls, handle):
        if not re.fullmatch(r"/[A-Za-z0-9._-]+", handle):
            raise OracleError(PROTOCOL, f"'{handle}' is not the name of a shared memory object")
        try:
            fd = os.open(FOLDER + handle, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise OracleError(PROTOCOL, f"cannot open shared memory {handle}: {error.strerror}") from error
        try:
            return cls(handle, mmap.mmap(fd, 0), False)
        except (OSError, ValueError) as error:
            raise OracleError(PROTOCOL, f"cannot map shared memory {handle}: {error}") from error
        finally:
            os.close(fd)

    def tensor(self, offset, spec):
        dtype, count = BY_NAME[spec["dtype"]], element_count(spec)
        if count == 0:
            return torch.empty(spec["shape"], dtype=dtype)
        if offset < 0 or offset + count * item_size(dtype) > len(self.memory):
            raise OracleError(PROTOCOL, f"tensor '{spec['name']}' reaches past the end of {self.handle}")
        return torch.frombuffer(self.memory, dtype=dtype, count=count, offset=offset).view(spec["shape"])

    def close(self):
        """Tensors made from it stay valid until they are dropped; its name goes now."""
        if self.owned:
            self.owned = False
            try:
                os.unlink(FOLDER + self.handle)
            except FileNotFoundError:
                pass
        self.memory = None


def remove_stale():
    """Unlinks objects of processes that are gone, oracles' and devices' alike: a killed process cannot unlink its own."""
    try:
        names = os.listdir(FOLDER)
    except OSError:
        return
    for name in names:
        match = re.fullmatch(r"cutegen-(\d+)-(?:[a-z]+-)?\d+", name)
        if match and not process_exists(int(match.group(1))):
            try:
                os.unlink(os.path.join(FOLDER, name))
            except OSError:
                pass  # another user's, or another cleaner was first


def process_exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 64)]


class Driver:
    """The few calls of libcuda that torch does not offer."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *args):
        code = getattr(self.library, name)(*args)
        if code == 2:
            raise OracleError(OUT_OF_MEMORY, f"out of memory while sharing tensors ({name})",
                              "the task needs more memory than this device has; use a larger device or smaller shapes")
        if code != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(text))
            raise OracleError("device", f"{name} failed: {(text.value or b'unknown error').decode()}")


_driver = None


def driver():
    global _driver
    if _driver is None:
        torch.cuda.current_stream().synchronize()  # makes the primary context current in this thread
        _driver = Driver()
    return _driver


class DeviceSpan:
    """Device memory as torch sees it; the tensor keeps the span, the span keeps `keeper`."""

    TYPESTR = {"float32": "<f4", "float16": "<f2", "bfloat16": "<i2", "float64": "<f8", "int64": "<i8", "int32": "<i4", "int16": "<i2",
               "int8": "|i1", "uint8": "|u1", "bool": "|u1"}

    def __init__(self, address, spec, keeper):
        self.keeper = keeper
        self.__cuda_array_interface__ = {"shape": tuple(spec["shape"]), "typestr": self.TYPESTR[spec["dtype"]], "data": (address, False),
                                         "strides": None, "version": 2}


def device_tensor(address, spec, keeper):
    dtype = BY_NAME[spec["dtype"]]
    if element_count(spec) == 0:
        return torch.empty(spec["shape"], dtype=dtype, device="cuda")
    tensor = torch.as_tensor(DeviceSpan(address, spec, keeper), device="cuda")
    return tensor if tensor.dtype == dtype else tensor.view(dtype)


class CudaArena:
    """cuMemAlloc rather than torch's allocator: an IPC handle exposes the whole allocation. Whole 2 MiB pages, since the
    driver places smaller allocations together in one and a handle then names the page."""

    where = "cuda_ipc"
    PAGE = 2 << 20

    def __init__(self, size):
        self.size = -(-size // self.PAGE) * self.PAGE
        pointer = ctypes.c_uint64()
        try:
            driver().call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(self.size))
        except OracleError as error:
            if error.code != OUT_OF_MEMORY:
                raise
            torch.cuda.empty_cache()  # torch may sit on freed blocks
            driver().call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(self.size))
        self.address = pointer.value
        handle = IpcHandle()
        driver().call("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(self.address))
        self.handle = bytes(handle.bytes).hex()

    def tensor(self, offset, spec):
        return device_tensor(self.address + offset, spec, self)

    def close(self):
        """The memory goes with the last tensor in it."""

    def __del__(self):
        if getattr(self, "address", None) and _driver is not None:
            _driver.library.cuMemFree_v2(ctypes.c_uint64(self.address))


class Opened:
    """Other processes' tensors, opened for one comparison."""

    def __init__(self, shared, device):
        self.shared, self.device = shared, device
        self.arenas, self.mapped = {}, {}

    def tensor(self, index):
        one = self.shared[index]
        if one["where"] == "shm":
            if one["handle"] not in self.arenas:
                self.arenas[one["handle"]] = ShmArena.open(one["handle"])
            return self.arenas[one["handle"]].tensor(one["offset"], one)
        if self.device.type != "cuda":
            raise OracleError(PROTOCOL, "a CUDA tensor was sent to an oracle without a GPU")
        return device_tensor(self.map(one["handle"]) + one["offset"], one, None)

    def map(self, handle):
        if handle not in self.mapped:
            raw = IpcHandle()
            raw.bytes[:] = bytes.fromhex(handle)
            pointer = ctypes.c_uint64()
            driver().call("cuIpcOpenMemHandle_v2", ctypes.byref(pointer), raw, ctypes.c_uint(1))
            self.mapped[handle] = pointer.value
        return self.mapped[handle]

    def close(self):
        """The caller has dropped the tensors."""
        if self.mapped:
            torch.cuda.synchronize()
        for address in self.mapped.values():
            driver().call("cuIpcCloseMemHandle", ctypes.c_uint64(address))
        self.arenas, self.mapped = {}, {}
