/* SPDX-License-Identifier: MIT */
/* page_text.c: escapes. */
#include "text/page_text.h"
#include "text/text.h"

#include <math.h>
#include <stdlib.h>

void page_put_text(FILE *out, const char *bytes)
{
    char *const text = text_display(bytes);
    text_put_markup(out, text);
    free(text);
}

void page_put_string(FILE *out, const char *bytes)
{
    char *const text = text_display(bytes);
    for (const char *s = text; *s != '\0'; s++) {
        if (*s == '<')
            fputs("\\u003c", out);
        else if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else
            fputc(*s, out);
    }
    free(text);
}

void page_put_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, fabs(value) >= 1e4 && fabs(value) < 1e21 ? "%.0f" : "%.4g", value);
}

void page_put_real(FILE *out, double value)
{
    char text[TEXT_NUMBER];
    text_number(text, value, true);
    fputs(text, out);
}

void page_put_base64(FILE *out, const void *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *const from = bytes;
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const unsigned word = (unsigned)from[i] << 16 |
                              (left > 1 ? (unsigned)from[i + 1] << 8 : 0) |
                              (left > 2 ? from[i + 2] : 0);
        fputc(digits[word >> 18], out);
        fputc(digits[word >> 12 & 63], out);
        fputc(left > 1 ? digits[word >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[word & 63] : '=', out);
    }
}
