# SPDX-License-Identifier: MIT
"""Arrays in GPU memory, streams and graphs by the CUDA driver alone: what tests need of a GPU without torch or cupy."""
import ctypes
import os
import time

import numpy as np
import pytest


class Driver:
    """The functions of libcuda, which raise what they return."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.cuInit(0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.cuDeviceGet(ctypes.byref(device), 0)
        self.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.cuCtxSetCurrent(context)

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            status = function(*arguments)
            if status:
                raise RuntimeError(f"{name}: error {status}")
        return call


def driver():
    try:
        return Driver()
    except (OSError, RuntimeError) as error:
        if os.environ.get("IMGSTAT_REQUIRE_CUDA") == "1":
            raise
        pytest.skip(f"no GPU: {error}", allow_module_level=True)


class DeviceArray:
    """What has the CUDA array interface alone."""

    def __init__(self, cuda, host, stream=None):
        self.cuda, self.host_shape, self.dtype, self.stream = cuda, host.shape, host.dtype, stream
        self.address = ctypes.c_uint64()
        base = np.ascontiguousarray(host)
        self.nbytes = base.nbytes
        cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(max(self.nbytes, 1)))
        self.shape, self.strides, self.offset = host.shape, None, 0
        self.fill(base)

    def fill(self, host):
        host = np.ascontiguousarray(host)
        self.cuda.cuMemcpyHtoD_v2(self.address, ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes))
        self.cuda.cuCtxSynchronize()  # the copy of pageable memory may still be on its way, and streams do not wait

    def like(self, view):
        """This memory as numpy sees it in `view`, a view of an array like the one it was made of."""
        base = view
        while base.base is not None:
            base = base.base
        self.shape, self.strides = view.shape, view.strides
        self.offset = view.ctypes.data - base.ctypes.data
        return self

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "strides": self.strides, "typestr": self.dtype.str, "version": 3,
                "data": (self.address.value + self.offset, False), "stream": self.stream}

    def get(self):
        host = np.empty(self.host_shape, self.dtype)
        self.cuda.cuCtxSynchronize()
        self.cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(host.ctypes.data), self.address, ctypes.c_size_t(self.nbytes))
        return host

    def __del__(self):
        try:
            self.cuda.cuMemFree_v2(self.address)
        except (RuntimeError, TypeError):
            pass


def to_host(cuda, array):
    """The samples of anything with the CUDA array interface."""
    interface = array.__cuda_array_interface__
    host = np.empty(interface["shape"], interface["typestr"])
    cuda.cuCtxSynchronize()
    cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(interface["data"][0]),
                         ctypes.c_size_t(host.nbytes))
    return host


class Stream:
    """A stream that does not wait for the default one, with __cuda_stream__."""

    def __init__(self, cuda):
        self.cuda, self.handle = cuda, ctypes.c_void_p()
        cuda.cuStreamCreate(ctypes.byref(self.handle), 1)

    def __cuda_stream__(self):
        return 0, self.handle.value

    def wait(self):
        self.cuda.cuStreamSynchronize(self.handle)

    def delay(self, seconds):
        """Lets what follows wait; the time runs while other threads of Python do."""
        self.pause = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda unused: time.sleep(seconds))
        self.cuda.cuLaunchHostFunc(self.handle, self.pause, None)

    def copy(self, to, host):
        """Enqueues a copy from host memory that the driver may read at any time."""
        self.cuda.cuMemcpyHtoDAsync_v2(to.address, ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes),
                                       self.handle)


class Pinned:
    """Host memory that copies need not wait for."""

    def __init__(self, cuda, host):
        address = ctypes.c_void_p()
        cuda.cuMemAllocHost_v2(ctypes.byref(address), ctypes.c_size_t(host.nbytes))
        buffer = (ctypes.c_ubyte * host.nbytes).from_address(address.value)
        self.array = np.frombuffer(buffer, host.dtype).reshape(host.shape)
        self.array[...] = host
