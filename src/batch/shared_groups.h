/* SPDX-License-Identifier: MIT */
/* shared_groups.h: which images of all files of a batch get one transfer, and on which scale they
 * are measured together. */
#ifndef IMGSTAT_BATCH_SHARED_GROUPS_H
#define IMGSTAT_BATCH_SHARED_GROUPS_H

#include "codec/page_group.h"
#include "transform/transfer_source.h"

/* Images that get one transfer. */
typedef struct SharedGroup {
    GroupKey key;        /* its texts are owned */
    TransferShape shape; /* of the first image, on the scale that all depths have in common */
    uint32_t depths;     /* of unsigned samples of at most 16 bits: bit n for images of n bits. 0:
                          * others, which have one */
    bool deepest;        /* some images have the common depth */
    bool only_mapped;    /* some images are not measured */
    TransferInput *input;
} SharedGroup;

typedef struct SharedGroups {
    SharedGroup *group; /* n of them, in the order of their first images */
    size_t n, room;
} SharedGroups;

enum { SHARED_MOST_GROUPS = 4096 };

/* Finds the group of a page. NULL: there is none. */
SharedGroup *shared_groups_find(const SharedGroups *groups, const GroupKey *key);

/* Adds an image to its group by its header. A mixture that is not exact is an error. name: of its
 * file. */
ImgstatResult shared_groups_add(SharedGroups *groups, const ImgstatMethod *method,
                                const GroupKey *key, const TransferShape *shape, const char *name,
                                ImgstatError *err);

/* Returns the shape of an image on the scale of its group. */
TransferShape shared_group_scale(const SharedGroup *group, const TransferShape *shape);

/* Returns whether images of some shape were added. */
bool shared_group_has_depth(const SharedGroup *group, const TransferShape *shape);

/* Frees what it holds. */
void shared_groups_release(SharedGroups *groups);

#endif
