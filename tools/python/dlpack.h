/* SPDX-License-Identifier: MIT */
/* dlpack.h: the structs of DLPack, by which libraries exchange arrays (data-apis.org). */
#ifndef IMGSTAT_PYTHON_DLPACK_H
#define IMGSTAT_PYTHON_DLPACK_H

#include <stdint.h>

enum { DLPACK_MAJOR = 1, DLPACK_MINOR = 0 };

/* DLDeviceType: the values of ImgstatMemory, and this one. */
enum { DL_CUDA_MANAGED = 13 };

/* DLDataTypeCode. */
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

enum { DL_READ_ONLY = 1, DL_COPIED = 2 };

typedef struct DLDevice {
    int32_t type, id;
} DLDevice;

typedef struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides; /* in elements; strides NULL: C order */
    uint64_t byte_offset;
} DLTensor;

/* In a capsule "dltensor". */
typedef struct DLManagedTensor {
    DLTensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

/* In a capsule "dltensor_versioned". */
typedef struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor tensor;
} DLManagedTensorVersioned;

/* In a capsule "dlpack_exchange_api", which a type has as __dlpack_c_exchange_api__ (DLPack 1.2).
 */
typedef struct DLExchange {
    uint32_t major, minor;
    const struct DLExchange *previous; /* of an older version, or NULL */
    void *allocate;
    int (*export_array)(void *array, DLManagedTensorVersioned **out); /* 0, or -1: an exception */
    /* and others */
} DLExchange;

#endif
