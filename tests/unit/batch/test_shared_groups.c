/* SPDX-License-Identifier: MIT */
/* test_shared_groups.c: which images of many files are measured together, and on which scale. */
#include "batch/shared_groups.h"

#include <criterion/criterion.h>

static const ImgstatMethod method = {.transform = IMGSTAT_STRETCH};
static const GroupKey all = {.by = IMGSTAT_BY_ALL};

static TransferShape gray(ImgstatSample sample, uint8_t bits)
{
    return (TransferShape){.sample = sample, .bits = bits, .channels = 1, .alpha = -1};
}

static ImgstatResult add(SharedGroups *groups, const GroupKey *key, ImgstatSample sample,
                         uint8_t bits)
{
    const TransferShape shape = gray(sample, bits);
    return shared_groups_add(groups, &method, key, &shape, "x.tif", NULL);
}

Test(shared_groups, depths)
{
    SharedGroups groups = {0};
    cr_expect_null(shared_groups_find(&groups, &all));
    cr_assert_eq(add(&groups, &all, IMGSTAT_U8, 4), IMGSTAT_OK);
    cr_assert_eq(groups.group->shape.bits, 4);
    cr_expect(groups.group->deepest);
    cr_assert_eq(add(&groups, &all, IMGSTAT_U8, 6), IMGSTAT_OK);
    cr_assert_eq(groups.group->shape.bits, 12);
    cr_assert_eq(groups.group->shape.sample, IMGSTAT_U16);
    cr_expect_not(groups.group->deepest, "no image has 12 bits");
    cr_assert_eq(add(&groups, &all, IMGSTAT_U16, 12), IMGSTAT_OK);
    cr_expect(groups.group->deepest);
    cr_assert_eq(add(&groups, &all, IMGSTAT_U16, 16), IMGSTAT_ERR_ARG);
    cr_assert_eq(add(&groups, &all, IMGSTAT_F32, 32), IMGSTAT_ERR_ARG);
    cr_assert_eq(add(&groups, &all, IMGSTAT_I8, 8), IMGSTAT_ERR_ARG);
    cr_assert_eq(groups.n, 1);
    cr_expect_eq(groups.group->depths, 1u << 4 | 1u << 6 | 1u << 12);
    const TransferShape four = gray(IMGSTAT_U8, 4), five = gray(IMGSTAT_U8, 5);
    cr_expect(shared_group_has_depth(groups.group, &four));
    cr_expect_not(shared_group_has_depth(groups.group, &five));
    cr_expect_eq(shared_group_scale(groups.group, &four).bits, 12);
    shared_groups_release(&groups);
}

Test(shared_groups, others_have_one_depth)
{
    for (ImgstatSample sample = IMGSTAT_U8; sample <= IMGSTAT_F64; sample++) {
        SharedGroups groups = {0};
        const uint8_t bits = (uint8_t)sample_bits(sample);
        cr_assert_eq(add(&groups, &all, sample, bits), IMGSTAT_OK);
        cr_assert_eq(add(&groups, &all, sample, bits), IMGSTAT_OK);
        cr_expect(groups.group->deepest);
        const bool narrow = sample == IMGSTAT_U8 || sample == IMGSTAT_U16;
        if (!sample_is_float(sample))
            cr_expect_eq(add(&groups, &all, sample, bits / 2),
                         narrow ? IMGSTAT_OK : IMGSTAT_ERR_ARG);
        shared_groups_release(&groups);
    }
}

Test(shared_groups, channels)
{
    SharedGroups groups = {0};
    const GroupKey dapi = {.by = IMGSTAT_BY_CHANNEL, .number = 0, .name = "DAPI"};
    const GroupKey moved = {.by = IMGSTAT_BY_CHANNEL, .number = 2, .name = "DAPI"};
    const GroupKey first = {.by = IMGSTAT_BY_CHANNEL, .number = 0};
    cr_assert_eq(add(&groups, &dapi, IMGSTAT_U8, 8), IMGSTAT_OK);
    cr_assert_eq(add(&groups, &first, IMGSTAT_F32, 32), IMGSTAT_OK, "groups need not agree");
    cr_assert_eq(add(&groups, &all, IMGSTAT_U16, 16), IMGSTAT_OK);
    cr_assert_eq(add(&groups, &moved, IMGSTAT_U16, 16), IMGSTAT_OK);
    cr_assert_eq(groups.n, 3);
    cr_expect_eq(shared_groups_find(&groups, &moved), groups.group);
    cr_expect_eq(shared_groups_find(&groups, &first), groups.group + 1);
    cr_expect_eq(groups.group->shape.bits, 16);
    for (uint32_t c = 1; groups.n < SHARED_MOST_GROUPS; c++) {
        const GroupKey key = {.by = IMGSTAT_BY_CHANNEL, .number = c};
        cr_assert_eq(add(&groups, &key, IMGSTAT_U8, 8), IMGSTAT_OK);
    }
    const GroupKey more = {.by = IMGSTAT_BY_CHANNEL, .number = SHARED_MOST_GROUPS};
    cr_expect_eq(add(&groups, &more, IMGSTAT_U8, 8), IMGSTAT_ERR_LIMIT);
    shared_groups_release(&groups);
}
