/* SPDX-License-Identifier: MIT */
/* helper_hog.h: multiprocessors that are busy for as long as a test wants. */
#ifndef IMGSTAT_HELPER_HOG_H
#define IMGSTAT_HELPER_HOG_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Hog {
    cudaStream_t stream;
    unsigned *flags; /* on the host: how many multiprocessors are taken, whether to let go */
    unsigned blocks; /* 0: none */
} Hog;

/* Takes all shared memory of all but `leave` multiprocessors; returns when it has. */
cudaError_t hog_start(Hog *hog, unsigned leave);
/* Lets go, and waits. */
cudaError_t hog_stop(Hog *hog);

#ifdef __cplusplus
}
#endif
#endif
