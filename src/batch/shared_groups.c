/* SPDX-License-Identifier: MIT */
/* shared_groups.c: groups of images over many files, by their headers. */
#include "batch/shared_groups.h"

#include "record/widen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SharedGroup *shared_groups_find(const SharedGroups *groups, const GroupKey *key)
{
    for (size_t i = 0; i < groups->n; i++)
        if (page_group_same(&groups->group[i].key, key))
            return &groups->group[i];
    return NULL;
}

/* The depth of unsigned samples of at most 16 bits; 0: others. */
static unsigned depth_of(const TransferShape *shape)
{
    if (shape->sample != IMGSTAT_U8 && shape->sample != IMGSTAT_U16)
        return 0;
    return shape->bits ? shape->bits : sample_bits(shape->sample);
}

static TransferShape on_scale(const TransferShape *shape, unsigned bits)
{
    const unsigned depth = depth_of(shape);
    TransferShape scaled = *shape;
    if (depth == 0 || bits == 0 || depth == bits)
        return scaled;
    scaled.sample = widen_sample(bits);
    scaled.bits = (uint8_t)bits;
    scaled.nodata_key *= widen_factor(depth, bits);
    return scaled;
}

TransferShape shared_group_scale(const SharedGroup *group, const TransferShape *shape)
{
    return on_scale(shape, depth_of(&group->shape));
}

bool shared_group_has_depth(const SharedGroup *group, const TransferShape *shape)
{
    return group->depths >> depth_of(shape) & 1;
}

static ImgstatResult create(SharedGroups *groups, const GroupKey *key, const TransferShape *shape,
                            const char *name, ImgstatError *err)
{
    if (groups->n == SHARED_MOST_GROUPS)
        return error_file(err, IMGSTAT_ERR_LIMIT, name,
                          "needs one transfer more than the %d that a batch makes",
                          SHARED_MOST_GROUPS);
    if (groups->n == groups->room) {
        const size_t room = groups->room ? 2 * groups->room : 1;
        SharedGroup *const larger = realloc(groups->group, room * sizeof *larger);
        if (!larger)
            return error_memory(err, room * sizeof *larger, "groups of images");
        groups->group = larger;
        groups->room = room;
    }
    char *const channel = key->name ? strdup(key->name) : NULL;
    char *const set = key->set ? strdup(key->set) : NULL;
    if (!channel != !key->name || !set != !key->set) {
        free(channel);
        free(set);
        return error_memory(err, 1, "the name of a channel or a group");
    }
    SharedGroup *const group = &groups->group[groups->n++];
    *group = (SharedGroup){
        .key = *key, .shape = *shape, .depths = 1u << depth_of(shape), .deepest = true};
    group->key.name = channel;
    group->key.set = set;
    return IMGSTAT_OK;
}

/* Depths meet where a whole number of the one is at the place of each of the other. */
static ImgstatResult no_common_scale(const SharedGroup *group, unsigned bits, const char *name,
                                     ImgstatError *err)
{
    char others[64] = "";
    size_t used = 0;
    for (unsigned depth = 1; depth <= WIDEN_MOST_BITS; depth++)
        if (group->depths >> depth & 1)
            used += (size_t)snprintf(others + used, sizeof others - used, "%s%u", used ? ", " : "",
                                     depth);
    return error_file(err, IMGSTAT_ERR_ARG, name,
                      "has samples of %u bits, images before it of %s; together they must have one "
                      "scale of at most %d bits on which all are whole numbers, as 1, 2, 4, 8 and "
                      "16 bits have",
                      bits, others, WIDEN_MOST_BITS);
}

ImgstatResult shared_groups_add(SharedGroups *groups, const ImgstatMethod *method,
                                const GroupKey *key, const TransferShape *shape, const char *name,
                                ImgstatError *err)
{
    SharedGroup *const group = shared_groups_find(groups, key);
    if (!group) {
        IMGSTAT_TRY(transfer_check(method, shape, err));
        return create(groups, key, shape, name, err);
    }
    const unsigned bits = depth_of(shape), other = depth_of(&group->shape);
    const unsigned common = bits && other ? widen_common_bits(bits, other) : 0;
    if (bits && other && common == 0)
        return no_common_scale(group, bits, name, err);
    const TransferShape scaled = on_scale(shape, common), first = on_scale(&group->shape, common);
    if (bits != other && shape->has_nodata && group->shape.has_nodata &&
        (shape->nodata_key != 0 || group->shape.nodata_key != 0))
        return error_file(err, IMGSTAT_ERR_ARG, name,
                          "has %u bits and a nodata value, images before it %u; together, images "
                          "of several depths have the nodata value 0 or none",
                          bits, other);
    IMGSTAT_TRY(transfer_shapes_check(method, &first, &scaled, name, err));
    group->deepest = (group->deepest && common == other) || common == bits;
    group->shape = first;
    group->depths |= 1u << bits;
    return IMGSTAT_OK;
}

void shared_groups_release(SharedGroups *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        free((void *)(uintptr_t)groups->group[i].key.name);
        free((void *)(uintptr_t)groups->group[i].key.set);
        transfer_input_destroy(groups->group[i].input);
    }
    free(groups->group);
    *groups = (SharedGroups){0};
}
