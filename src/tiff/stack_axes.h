/* SPDX-License-Identifier: MIT */
/* stack_axes.h: where the pages of a file lie along the axes channel, z and time, as its texts
 * declare them: OME-XML, ImageJ's description, JSON of tifffile. */
#ifndef IMGSTAT_TIFF_STACK_AXES_H
#define IMGSTAT_TIFF_STACK_AXES_H

#include "base/error.h"
#include "codec/warnings.h"

enum { AXIS_C, AXIS_Z, AXIS_T, STACK_AXES };

enum {
    STACK_NAME_BYTES = 128,      /* of a channel's name; longer ones are not kept */
    STACK_MOST_CHANNELS = 65536, /* of a file, and images */
    STACK_MOST_SIZE = 1 << 20    /* of an axis */
};

/* Where a page lies. */
typedef struct StackPlane {
    uint32_t at[STACK_AXES];
    uint32_t image; /* of OME-XML; else 0 */
    bool known;     /* the texts describe this page */
} StackPlane;

/* An Image of OME-XML; all other texts describe one. */
typedef struct StackImage {
    uint32_t size[STACK_AXES]; /* c: of its own channels, each a page of its own */
    uint32_t first_c;          /* its channel 0 among those of the file */
    uint32_t samples;          /* that SizeC counts for each channel */
    uint8_t order[STACK_AXES]; /* the fastest axis first */
} StackImage;

/* At most 2^56. */
static inline uint64_t stack_image_planes(const StackImage *image)
{
    return (uint64_t)image->size[0] * image->size[1] * image->size[2];
}

/* All zero: no axes are declared. */
typedef struct StackAxes {
    StackPlane *plane; /* of each page of the chain */
    uint32_t n;
    StackImage *image;
    uint32_t n_images;
    uint32_t size[STACK_AXES]; /* of the file: the largest of its images, the sum of channels */
    char (*name)[STACK_NAME_BYTES]; /* of each of size[AXIS_C] channels, "" for none */
    uint32_t n_names, names_room;
    bool other_files; /* OME-XML describes planes of other files, as well */
    bool no_memory;
} StackAxes;

/* Pages of the chain. */
typedef struct StackPages {
    uint32_t n;
    const bool *other; /* [n] levels, masks and thumbnails; NULL: none */
    uint16_t samples;  /* of the first page */
    uint32_t width, height;
} StackPages;

/* IJMetadata: tags 50838 and 50839. */
typedef struct ImagejMetadata {
    const uint8_t *data; /* NULL: none */
    size_t bytes;
    const uint32_t *counts;
    size_t n_counts;
} ImagejMetadata;

/* The texts of a file. */
typedef struct StackTexts {
    /* Returns the ImageDescription of a page, NULL for none. It may be overwritten by the next
     * call. */
    const char *(*description)(void *context, uint32_t page);
    void *context;
    ImagejMetadata imagej; /* of the first page */
} StackTexts;

/* What a description is. */
typedef enum StackText { STACK_TEXT_OTHER, STACK_OME, STACK_IMAGEJ, STACK_SHAPED } StackText;

StackText stack_text_kind(const char *description);

/* Returns how many planes lie one behind the other where the only directory's pixels begin, by the
 * description of that directory: 1 unless it is ImageJ's or tifffile's. first: its page. */
uint64_t stack_planes_contiguous(const char *description, const StackPages *first);

/* Reads what the texts of a file declare. Texts that contradict each other or the pages declare
 * nothing, with a warning. */
ImgstatResult stack_axes_read(const StackTexts *texts, const StackPages *pages, Warnings *warnings,
                              StackAxes *out, ImgstatError *err);

/* Pages of one image that an output keeps, positions renumbered without gaps. */
typedef struct StackSelection {
    uint32_t n;
    uint32_t *page;             /* [n] of the output */
    StackPlane *plane;          /* [n] where it lies now; c counts from the image's first channel */
    uint32_t size[STACK_AXES];  /* how many positions of each axis are left */
    uint32_t *kept[STACK_AXES]; /* new number of each old position, UINT32_MAX: gone */
    bool is_grid;               /* every combination is there, in the order of the image */
} StackSelection;

/* keep: n_keep pages of the input, ascending, which become pages 0, 1 ... of the output. */
ImgstatResult stack_axes_select(const StackAxes *from, uint32_t image, const uint32_t *keep,
                                uint32_t n_keep, StackSelection *out, ImgstatError *err);

void stack_selection_release(StackSelection *selection);

/* Frees what it holds, not the struct. */
void stack_axes_release(StackAxes *axes);

/* ---- For the readers of texts ---- */

/* Adds an image, whose first_c is filled in later. Returns false if a size is 0 or too large, or
 * memory runs out. */
bool stack_image_add(StackAxes *axes, const StackImage *image);

/* Adds the name of the next channel of the image added last, or about to be added. */
bool stack_name_add(StackAxes *axes, const char *name);

/* Places `count` pages from `page` on, which go through an image in its order from `at` on. Returns
 * false if a page is not there, was placed before, or lies outside the image. */
bool stack_place(StackAxes *axes, uint32_t image, uint32_t page, uint64_t count,
                 const uint32_t at[STACK_AXES]);

/* stack_place of the next `count` pages from `first` on that are no levels, masks or thumbnails,
 * from the image's beginning. Returns the page behind them, 0 where stack_place returns false. */
uint32_t stack_place_images(StackAxes *axes, const StackPages *pages, uint32_t image,
                            uint32_t first, uint64_t count);

/* The readers return false if a text contradicts the pages; axes->plane has a place for each page.
 */
bool ome_axes_read(const char *text, const StackPages *pages, StackAxes *axes, bool *damaged);
bool imagej_axes_read(const char *text, const ImagejMetadata *metadata, const StackPages *pages,
                      StackAxes *axes);
/* *next: the page behind those that the text of page `first` is about. */
bool shaped_axes_read(const char *text, const StackPages *pages, uint32_t first, uint32_t *next,
                      StackAxes *axes);

/* As stack_planes_contiguous, of one kind of text. */
uint64_t imagej_planes_contiguous(const char *text);
uint64_t shaped_planes_contiguous(const char *text, const StackPages *first);

#endif
