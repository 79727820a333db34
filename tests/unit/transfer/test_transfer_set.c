/* SPDX-License-Identifier: MIT */
/* test_transfer_set.c: the transfer of a set for a channel and a depth. */
#include "record/kind.h"
#include "transfer/transfer.h"

#include <criterion/criterion.h>

static const TransferChannel none = {.known = false},
                             dapi = {.known = true, .c = 1, .name = "DAPI"},
                             moved = {.known = true, .c = 4, .name = "DAPI"},
                             third = {.known = true, .c = 2}, fourth = {.known = true, .c = 3};

static void add(Transfer **set, ImgstatSample sample, uint8_t bits, const TransferChannel *channel)
{
    MapRange range = {.sample = sample};
    Transfer *one;
    sample_full_scale(sample, bits, &range.lo_key, &range.hi_key);
    cr_assert_eq(transfer_begin(NULL, sample, bits, &range, bits, 1, false, 0, false, &one, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(transfer_set_add(set, one, channel, NULL), IMGSTAT_OK);
}

static uint8_t find(const Transfer *set, const TransferChannel *channel, ImgstatSample sample,
                    uint8_t bits)
{
    const Transfer *found;
    cr_assert_eq(transfer_set_find(set, channel, &(ImgstatKind){.sample = sample, .bits = bits},
                                   &found, NULL),
                 IMGSTAT_OK);
    return found->from_bits;
}

Test(transfer_set, depths)
{
    Transfer *set = NULL;
    add(&set, IMGSTAT_U16, 16, &none);
    add(&set, IMGSTAT_U8, 8, &none);
    add(&set, IMGSTAT_U8, 4, &none);
    cr_expect_eq(find(set, &none, IMGSTAT_U16, 16), 16);
    cr_expect_eq(find(set, &none, IMGSTAT_U16, 0), 16);
    cr_expect_eq(find(set, &none, IMGSTAT_U8, 8), 8);
    cr_expect_eq(find(set, &none, IMGSTAT_U8, 4), 4);
    cr_expect_eq(find(set, &none, IMGSTAT_U8, 2), 4, "fewer bits are accepted");
    cr_expect_eq(find(set, &dapi, IMGSTAT_U8, 8), 8, "all channels");
    cr_expect_eq(find(set, &none, IMGSTAT_F32, 32), 16, "one that does not fit");
    cr_expect_eq(transfer_set_channels(set, set, NULL), 1);
    transfer_destroy(set);
}

Test(transfer_set, groups)
{
    static const TransferChannel no_group = {.group = ""}, plate = {.group = "plate"},
                                 plate_dapi = {.known = true, .c = 1, .group = "plate"},
                                 other = {.group = "other"};
    const Transfer *found;
    ImgstatError error;
    Transfer *set = NULL;
    uint32_t number = 9;
    add(&set, IMGSTAT_U16, 12, &no_group);
    add(&set, IMGSTAT_U16, 14, &plate);
    add(&set, IMGSTAT_U16, 16, &other);
    cr_expect(transfer_set_has_groups(set));
    cr_expect_eq(find(set, &none, IMGSTAT_U16, 12), 12, "no group is the group \"\"");
    cr_expect_eq(find(set, &plate, IMGSTAT_U16, 12), 14);
    cr_expect_eq(find(set, &plate_dapi, IMGSTAT_U16, 12), 14, "the only one of its group");
    cr_expect_eq(transfer_set_channels(set, set->next->next, &number), 3);
    cr_expect_eq(number, 2);
    static const TransferChannel third_group = {.group = "third"};
    cr_expect_eq(transfer_set_find(set, &third_group,
                                   &(ImgstatKind){.sample = IMGSTAT_U16, .bits = 12}, &found,
                                   &error),
                 IMGSTAT_ERR_ARG);
    cr_expect_str_eq(error.message, "none of the transfers is for the group \"third\"");
    cr_expect_eq(imgstat_transfer_save(set, "/nowhere/t.json", false, &error), IMGSTAT_ERR_ARG);
    transfer_destroy(set);
    set = NULL;
    add(&set, IMGSTAT_U16, 12, &none);
    cr_expect_not(transfer_set_has_groups(set));
    cr_expect_eq(find(set, &plate, IMGSTAT_U16, 12), 12, "for all files");
    transfer_destroy(set);
}

Test(transfer_set, channels)
{
    const Transfer *found;
    ImgstatError error;
    Transfer *set = NULL;
    uint32_t number = 9;
    add(&set, IMGSTAT_U16, 12, &none);
    add(&set, IMGSTAT_U16, 14, &dapi);
    add(&set, IMGSTAT_U8, 7, &dapi);
    add(&set, IMGSTAT_U16, 16, &third);
    cr_expect_eq(find(set, &none, IMGSTAT_U16, 12), 12);
    cr_expect_eq(find(set, &dapi, IMGSTAT_U16, 14), 14);
    cr_expect_eq(find(set, &moved, IMGSTAT_U16, 14), 14, "names count, not places");
    cr_expect_eq(find(set, &moved, IMGSTAT_U8, 7), 7);
    cr_expect_eq(find(set, &third, IMGSTAT_U16, 16), 16);
    cr_expect_eq(transfer_set_find(set, &fourth, &(ImgstatKind){.sample = IMGSTAT_U16, .bits = 16},
                                   &found, &error),
                 IMGSTAT_ERR_ARG);
    cr_expect_str_eq(error.message, "none of the transfers is for channel 3");
    cr_expect_eq(transfer_set_channels(set, set->next->next, &number), 3);
    cr_expect_eq(number, 1);
    transfer_destroy(set->next->next->next);
    set->next->next->next = NULL;
    Transfer *const first = set;
    set = set->next; /* those of a channel alone */
    first->next = NULL;
    transfer_destroy(first);
    cr_expect_eq(transfer_set_find(set, &none, &(ImgstatKind){.sample = IMGSTAT_U16, .bits = 16},
                                   &found, NULL),
                 IMGSTAT_ERR_ARG);
    transfer_destroy(set);
}

static void set_kind(Transfer *set, size_t i, const ImgstatKind *kind)
{
    for (; i > 0; i--)
        set = set->next;
    set->kind = kind_copy(kind);
    cr_assert_not_null(set->kind);
}

Test(transfer_set, kinds)
{
    static const char *const names[] = {"red", "green", "blue"}, *const bands[] = {"a", "b", "c"};
    const ImgstatKind gray = {IMGSTAT_U8, .channels = 1, .alpha = -1, .photometric = "gray"};
    const ImgstatKind deep = {IMGSTAT_U8, .bits = 4, .channels = 1, .alpha = -1,
                              .photometric = "gray"};
    const ImgstatKind rgb = {IMGSTAT_U8, .channels = 3, .alpha = -1, .photometric = "rgb",
                             .names = names};
    ImgstatKind other_names = rgb, alpha = rgb, bare = {IMGSTAT_U8, .channels = 3, .alpha = -1};
    const Transfer *found = NULL;
    Transfer *set = NULL;
    ImgstatError error;
    add(&set, IMGSTAT_U8, 8, &none);
    add(&set, IMGSTAT_U8, 8, &none);
    set_kind(set, 0, &gray);
    set_kind(set, 1, &rgb);
    cr_expect(transfer_set_has_kinds(set));
    cr_expect(transfer_set_find(set, &none, &gray, &found, NULL) == IMGSTAT_OK && found == set);
    cr_expect(transfer_set_find(set, &none, &rgb, &found, NULL) == IMGSTAT_OK &&
              found == set->next);
    cr_expect(transfer_set_find(set, &none, &bare, &found, NULL) == IMGSTAT_OK &&
                  found == set->next,
              "of images in memory the colours are not known");
    cr_expect_eq(transfer_set_find(set, &none, &deep, &found, &error), IMGSTAT_ERR_ARG);
    cr_expect_str_eq(error.message,
                     "none of the transfers is for gray u8 images of 4 bits with 1 channel");
    alpha.alpha = 2;
    cr_expect_eq(transfer_set_find(set, &none, &alpha, &found, &error), IMGSTAT_ERR_ARG);
    other_names.names = bands;
    cr_expect_eq(transfer_set_find(set, &none, &other_names, &found, NULL), IMGSTAT_ERR_ARG);
    cr_expect_eq(imgstat_transfer_save(set, "/nowhere/t.json", false, &error), IMGSTAT_ERR_ARG);
    add(&set, IMGSTAT_U8, 8, &none);
    set_kind(set, 2, &other_names);
    cr_expect_eq(transfer_set_find(set, &none, &bare, &found, &error), IMGSTAT_ERR_ARG);
    cr_expect_str_eq(error.message, "several of the transfers are for u8 images with 3 channels");
    cr_expect(transfer_set_find(set, &none, &other_names, &found, NULL) == IMGSTAT_OK &&
              found == set->next->next);
    transfer_destroy(set);
}
