/* SPDX-License-Identifier: MIT */
/* cpu_rect.c: measuring one rectangle: which loop suits it. */
#include "cpu_reference.h"

void cpu_measure_rect(CpuDevice *device, CpuThread *thread, const CpuRect *rect, bool bins)
{
    (void)device;
    reference_measure(rect, thread->tally, NULL, bins ? thread->counts : NULL);
}
