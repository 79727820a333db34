/* SPDX-License-Identifier: MIT */
/* transfer_fits.c: what the header of a page says against a transfer. */
#include "transfer/transfer.h"
#include "transform/page.h"

ImgstatResult imgstat_transfer_fits(const ImgstatTransfer *transfer, const ImgstatPage *page,
                                    ImgstatError *err)
{
    IMGSTAT_TRY(error_if_null(transfer && page, __func__, err));
    if (page_is_mask(page))
        return IMGSTAT_OK;
    const ImagePro image = {.channels = page->channels, .sample = page->sample, .bits = page->bits};
    return transfer_check_image(transfer, &image, page->alpha, err);
}
