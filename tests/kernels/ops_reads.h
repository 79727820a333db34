/* SPDX-License-Identifier: MIT */
/* ops_reads.h: tests of the CUDA device whose results are words, for test_ops.c. */
#ifndef IMGSTAT_OPS_READS_H
#define IMGSTAT_OPS_READS_H

/* Digits, ranges, keys and central moments. */
void test_reads(void);
/* Ranks by sorting. */
void test_sort(void);

#endif
