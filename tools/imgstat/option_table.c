/* SPDX-License-Identifier: MIT */
/* option_table.c: the options of all groups, one after the other. */
#include "option_table.h"
#include "option_rows.h"

const Option *option_at(size_t i)
{
    const OptionRows *const parts[] = {&options_of_transforms, &options_of_results,
                                       &options_of_inputs};
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; i -= parts[k++]->n)
        if (i < parts[k]->n)
            return &parts[k]->rows[i];
    return NULL;
}
