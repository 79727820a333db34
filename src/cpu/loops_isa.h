/* SPDX-License-Identifier: MIT */
/* loops_isa.h: the operations of one instruction set that have files of their own. cpu/loops.h
 * describes them. Only for files that are compiled once per instruction set. */
#ifndef IMGSTAT_CPU_LOOPS_ISA_H
#define IMGSTAT_CPU_LOOPS_ISA_H

#include "base/isa.h"
#include "cpu/loops.h"

Lut8 ISA(lut8);
LumaNarrow ISA(luma_narrow);
LumaNarrowScale ISA(luma_narrow_scale);
LumaWideLoad ISA(luma_wide_load);
LumaWideStore ISA(luma_wide_store);
ClaheRow16 ISA(clahe_row16);
ClaheMap16 ISA(clahe_map16);
MapLinear ISA(map_linear);
MapPower ISA(map_power);
MapKnotsF32 ISA(map_knots_f32);

#endif
