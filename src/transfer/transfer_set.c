/* SPDX-License-Identifier: MIT */
/* transfer_set.c: several transfers that are saved and applied as one: for channels and depths. */
#include "transfer/transfer.h"

#include "record/kind.h"

#include <stdio.h>
#include <stdlib.h>

ImgstatResult transfer_set_add(Transfer **set, Transfer *add, const TransferChannel *channel,
                               ImgstatError *err)
{
    Transfer **last = set;
    while (*last)
        last = &(*last)->next;
    add->channel = *channel;
    add->channel.name = channel->name ? strdup(channel->name) : NULL;
    add->channel.group = channel->group ? strdup(channel->group) : NULL;
    if (!add->channel.name != !channel->name || !add->channel.group != !channel->group) {
        transfer_destroy(add);
        return error_memory(err, 1, "the name of a channel or a group");
    }
    *last = add;
    return IMGSTAT_OK;
}

static uint8_t bits_of(ImgstatSample sample, uint8_t bits)
{
    return bits ? bits : (uint8_t)sample_bits(sample);
}

bool transfer_set_has_groups(const Transfer *set)
{
    for (; set; set = set->next)
        if (set->channel.group)
            return true;
    return false;
}

/* The transfers of a set that serve the group of an image. */
typedef struct Part {
    const TransferChannel *of; /* NULL: the set has no groups */
} Part;

static bool is_in(const Part *part, const Transfer *transfer)
{
    return !part->of || transfer_group_same(part->of, &transfer->channel);
}

/* Whether a part has several transfers, and any of them is for a channel. */
static bool has_channels(const Part *part, const Transfer *set)
{
    unsigned n = 0;
    bool known = false;
    for (; set; set = set->next)
        if (is_in(part, set)) {
            n++;
            known = known || set->channel.known;
        }
    return n > 1 && known;
}

static ImgstatResult no_group(const TransferChannel *channel, ImgstatError *err)
{
    return error_set(err, IMGSTAT_ERR_ARG, "none of the transfers is for the group \"%s\"",
                     channel->group ? channel->group : "");
}

static ImgstatResult no_channel(const TransferChannel *channel, ImgstatError *err)
{
    if (!channel->known)
        return error_set(err, IMGSTAT_ERR_ARG,
                         "the transfers are for channels of files that declare them; the image "
                         "lies at none");
    if (!channel->name)
        return error_set(err, IMGSTAT_ERR_ARG, "none of the transfers is for channel %u",
                         channel->c);
    return error_set(err, IMGSTAT_ERR_ARG, "none of the transfers is for the channel \"%s\"",
                     channel->name);
}

/* Finds the transfer of a part that was made for the kind of an image. */
static ImgstatResult find_kind(const Part *part, const Transfer *set, const ImgstatKind *image,
                               const Transfer **out, ImgstatError *err)
{
    char words[KIND_WORDS], group[KIND_WORDS] = "";
    const Transfer *found = NULL;
    unsigned n = 0;
    for (const Transfer *t = set; t; t = t->next)
        if (is_in(part, t) && kind_is_of(t->kind, image)) {
            found = t;
            n++;
        }
    *out = n == 1 ? found : NULL;
    if (*out)
        return IMGSTAT_OK;
    kind_describe(image, words);
    if (part->of && part->of->group && *part->of->group)
        snprintf(group, sizeof group, " in the group \"%.120s\"", part->of->group);
    return error_set(err, IMGSTAT_ERR_ARG, "%s for %s%s",
                     n > 1 ? "several of the transfers are" : "none of the transfers is", words,
                     group);
}

ImgstatResult transfer_set_find(const Transfer *set, const TransferChannel *channel,
                                const ImgstatKind *image, const Transfer **out, ImgstatError *err)
{
    const Part part = {.of = transfer_set_has_groups(set) ? channel : NULL};
    const bool by_channel = has_channels(&part, set);
    const uint8_t bits = bits_of(image->sample, image->bits);
    const Transfer *found = NULL, *other = NULL;
    bool any = false;
    for (const Transfer *t = set; t; t = t->next) {
        if (!is_in(&part, t))
            continue;
        any = true;
        if (by_channel && !transfer_channel_same(&t->channel, channel))
            continue;
        const uint8_t depth = bits_of(t->from, t->from_bits);
        other = other ? other : t;
        if (t->from == image->sample && depth >= bits &&
            (!found || depth < bits_of(found->from, found->from_bits)))
            found = t;
    }
    if (any && transfer_set_has_kinds(set))
        return find_kind(&part, set, image, out, err);
    *out = found ? found : other; /* transfer_check_image reports a misfit */
    if (*out)
        return IMGSTAT_OK;
    return any ? no_channel(channel, err) : no_group(channel, err);
}

uint32_t transfer_set_channels(const Transfer *set, const Transfer *one, uint32_t *number)
{
    uint32_t n = 0;
    const Transfer *before = NULL;
    for (const Transfer *t = set; t; before = t, t = t->next) {
        n += !before || !transfer_channel_same(&before->channel, &t->channel) ||
             !transfer_group_same(&before->channel, &t->channel);
        if (number && t == one)
            *number = n - 1;
    }
    return n;
}
