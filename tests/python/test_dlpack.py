# SPDX-License-Identifier: MIT
"""Descriptors of DLPack that no library makes, with numbers at the ends of their types: each is taken as what it says, or refused."""
import ctypes
import math
import os
import random

import pytest

import imgstat

np = pytest.importorskip("numpy")

I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64 = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
TYPES = {(code, bits): name for code, names in enumerate(((I8, I16, I32, I64), (U8, U16, U32, U64), (None, F16, F32, F64)))
         for bits, name in zip((8, 16, 32, 64), names) if name}

REFUSED = (BufferError, TypeError, ValueError, OverflowError, MemoryError, imgstat.Error)


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_is = ctypes.pythonapi.PyCapsule_IsValid
capsule_is.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Hostile:
    """What exports one descriptor."""

    def __init__(self, x, shape, strides, code, bits, lanes=1, ndim=None, offset=0, null=(), device=1, said=1, version=None):
        self.x, self.said, self.freed = x, said, 0
        numbers = ctypes.c_int64 * 16
        self.shape, self.strides = numbers(*shape), numbers(*(strides or ()))
        tensor = Tensor(None if "data" in null else x.ctypes.data, Device(device, 0), len(shape) if ndim is None else ndim, code, bits, lanes,
                        None if "shape" in null else self.shape, self.strides if strides is not None else None, offset)
        deleter = DELETER(0) if "deleter" in null else DELETER(self.free)
        self.name = b"dltensor" if version is None else b"dltensor_versioned"
        self.managed = Managed(tensor, None, deleter) if version is None else Versioned(version, 0, None, deleter, 0, tensor)
        self.capsule = new_capsule(ctypes.addressof(self.managed), self.name, None)

    def free(self, _):
        self.freed += 1

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return self.said, 0


def lies_inside(words):
    """Whether all elements lie in x."""
    shape, size, offset = words["shape"], words["bits"] // 8, words["offset"]
    if min(shape) <= 0:
        return True
    ways = [(n - 1) * way * size for n, way in zip(shape, words["strides"] or c_order(shape))]
    return offset + sum(way for way in ways if way < 0) >= 0 and offset + sum(way for way in ways if way > 0) + size <= words["x"].nbytes


def is_lie(words):
    """Whether it names other memory, which nobody can know, or so many elements that reading them takes long."""
    shape = words["shape"]
    if min(shape) > 0 and max(shape) < 2**32 and math.prod(shape) > 2**20:
        return True
    known = (words["code"], words["bits"]) in TYPES or (words["code"], words["bits"]) == (6, 8)
    ways = [abs(way) * words["bits"] // 8 if n > 1 else 0 for n, way in zip(shape, words["strides"] or c_order(shape))]
    reach = sum(way * (n - 1) for n, way in zip(shape, ways))
    return known and not lies_inside(words) and max(reach, *ways, math.prod(shape) * words["bits"] // 8) < 2**63


def c_order(shape):
    return [math.prod(max(n, 1) for n in shape[i + 1:]) for i in range(len(shape))]


def draw(dice, x):
    """Words for Hostile: mostly what is right, with one or two things that are not."""
    (code, bits), dims = dice.choice(list(TYPES)), dice.randrange(1, 4)
    size = bits // 8
    shape = [dice.choice((1, 2, 3, 5, 8)) for _ in range(dims)]
    strides = dice.choice((None, c_order(shape), [way * 2 for way in c_order(shape)], [0] * dims))
    words = {"x": x, "shape": shape, "strides": strides, "code": code, "bits": bits, "offset": dice.choice((0, size, 64)),
             "version": dice.choice((None, 1))}
    for _ in range(dice.choice((0, 1, 1, 2))):
        ends = (0, -1, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -2**63)
        what = dice.randrange(9)
        if what == 0:
            shape[dice.randrange(dims)] = dice.choice(ends)
        elif what == 1:
            words["strides"] = [dice.choice(ends) for _ in range(dims)]
        elif what == 2:
            words["ndim"] = dice.choice((-2**31, -1, 0, 9, 64, 2**31 - 1))
        elif what == 3:
            words |= {"code": dice.randrange(256), "bits": dice.randrange(256)}
        elif what == 4:
            words["lanes"] = dice.choice((0, 2, 65535))
        elif what == 5:
            words["null"] = dice.sample(["data", "shape", "deleter"], dice.randrange(1, 4))
        elif what == 6:
            words["version"] = dice.choice((0, 2, 2**32 - 1))
        elif what == 7:
            words["device"] = dice.choice((0, 2, 3, 13, -1, 2**31 - 1))
        else:
            words["said"] = dice.choice((0, 3, 10, -1, 2**31 - 1))
    return words


def expected(words):
    """The elements that a descriptor names; None: it should be refused, or may be."""
    code, bits = words["code"], words["bits"]
    wrong = words.get("null", ()) != () or "ndim" in words or "lanes" in words or words["version"] not in (None, 1)
    if wrong or (code, bits) not in TYPES or words.get("said", 1) not in (1, 3) or words.get("device", 1) in (2, 13):
        return None
    shape = words["shape"]
    strides = [way if n > 1 else 0 for n, way in zip(shape, words["strides"] or c_order(shape))]
    if min(shape) < 1 or max(shape) > 2**20:
        return None
    raw = np.frombuffer(words["x"].tobytes()[words["offset"]:], "u1")
    return np.lib.stride_tricks.as_strided(raw[:bits // 8].view(TYPES[code, bits]), shape, [way * bits // 8 for way in strides]) \
        if lies_inside(words) and min(strides) >= 0 else None


def test_hostile_descriptors(is_small):
    dice, taken, refused = random.Random(int(os.environ.get("IMGSTAT_SEED", "1"))), 0, 0
    x = np.arange(4096, dtype="u1")
    for _ in range(int(os.environ.get("IMGSTAT_DLPACK_RUNS", 500 if is_small else 3000))):
        words = draw(dice, x)
        if is_lie(words):
            continue
        array, want = Hostile(**words), expected(words)
        try:
            got = imgstat.stats(array)
        except REFUSED:
            refused += 1
            if want is not None:  # so is an array of such axes
                with pytest.raises(REFUSED):
                    imgstat.stats(np.ascontiguousarray(want))
        else:
            taken += 1
            if want is not None:
                one = imgstat.stats(np.ascontiguousarray(want))
                assert repr(got) == repr(one), words
        assert array.freed == ("deleter" not in words.get("null", ()) and not capsule_is(array.capsule, array.name)), words
    assert taken > 50 and refused > 50
