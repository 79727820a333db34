/* SPDX-License-Identifier: MIT */
/* fuzz_transfer: any bytes as a saved transfer. One that is taken must be written and read again as
 * the same text, have ranges that ascend, and map samples without a fault. */
#include "cpu/map_rows.h"
#include "transfer/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Transfer *parse(const char *text, size_t size)
{
    Transfer *transfer = NULL;
    ImgstatError err = {.code = IMGSTAT_OK};
    const ImgstatResult result = transfer_from_json(text, size, "fuzz", 0, &transfer, &err);
    if ((result == IMGSTAT_OK) != (transfer != NULL))
        abort();
    if (result == IMGSTAT_OK || result == IMGSTAT_ERR_MEMORY)
        return transfer;
    if (err.code != result || strncmp(err.message, "fuzz: ", 6) != 0) {
        fprintf(stderr, "result %d, error %d: %s\n", (int)result, (int)err.code, err.message);
        abort();
    }
    return NULL;
}

static void apply(const Transfer *transfer, const uint8_t *data, size_t size)
{
    enum { PIXELS = 16, SAMPLE = 8 };
    const uint16_t channels = transfer->luma ? 3 : transfer->n_maps > 64 ? 0 : transfer->n_maps;
    if (channels == 0)
        return;
    const size_t n = (size_t)PIXELS * channels * SAMPLE;
    uint8_t *const from = calloc(2, n);
    ImagePro in, out;
    for (size_t i = 0; from && size > 0 && i < n; i++)
        from[i] = (uint8_t)(data[i % size] * 17u);
    uint8_t bits;
    const ImgstatSample sample = imgstat_transfer_output(transfer, &bits);
    if (from &&
        imgstat_image_wrap(IMGSTAT_HOST, 0, from, 0, PIXELS, 1, channels, transfer->from,
                           transfer->from_bits, NULL, NULL, &in, NULL) == IMGSTAT_OK &&
        imgstat_image_wrap(IMGSTAT_HOST, 0, from + n, 0, PIXELS, 1, channels, sample, bits, NULL,
                           NULL, &out, NULL) == IMGSTAT_OK &&
        transfer_apply(transfer, &in, -1, &out, NULL) != IMGSTAT_OK)
        abort(); /* everything fits */
    free(from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Transfer *const transfer = parse((const char *)data, size);
    if (!transfer)
        return 0;
    char *const text = transfer_to_json(transfer, NULL);
    Transfer *const again = text ? parse(text, strlen(text)) : NULL;
    char *const text_again = again ? transfer_to_json(again, NULL) : NULL;
    if (text && (!again || (text_again && strcmp(text, text_again) != 0))) {
        fprintf(stderr, "%s\n%s\n", text, text_again ? text_again : "is not taken");
        abort();
    }
    for (uint16_t i = 0; i < transfer->n_maps; i++)
        if (transfer->maps[i].to.lo_key > transfer->maps[i].to.hi_key)
            abort();
    apply(transfer, data, size);
    free(text_again);
    free(text);
    transfer_destroy(again);
    transfer_destroy(transfer);
    return 0;
}
