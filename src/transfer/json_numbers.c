/* SPDX-License-Identifier: MIT */
/* json_numbers.c: whole numbers in JSON text that its parser cannot hold. */
#include "transfer/json_numbers.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at;
}

const char *json_find_too_long(const char *at, const char *end)
{
    for (; at < end; at++) {
        if (*at == '"') {
            at = string_end(at, end);
            continue;
        }
        if (*at != '-' && !(*at >= '0' && *at <= '9'))
            continue;
        const char *const start = at;
        const uint64_t most = *at == '-' ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;
        uint64_t n = 0;
        bool whole = true, fits = true;
        for (at += *at == '-'; at < end && memchr("0123456789+-.eE", *at, 15); at++) {
            const unsigned digit = (unsigned)(*at - '0');
            whole = whole && digit <= 9;
            fits = fits && (digit > 9 || n <= (most - digit) / 10);
            n = 10 * n + digit;
        }
        if (whole && !fits)
            return start;
        at--;
    }
    return NULL;
}
