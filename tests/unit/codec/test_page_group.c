/* SPDX-License-Identifier: MIT */
/* test_page_group.c: the groups that pages of a file form. */
#include "codec/page_group.h"

#include <criterion/criterion.h>

enum { PAGES = 8 };

/* Channels 1 0 1 0, a level, an image without axes, a mask, and channel 0 in a SubIFD. */
static PageEntry entries[PAGES];
static const PageList list = {.entry = entries, .n = PAGES, .chain = PAGES - 1};

static void begin(void)
{
    for (uint32_t i = 0; i < PAGES; i++)
        entries[i] = (PageEntry){.role = IMGSTAT_ROLE_IMAGE, .owner = i, .has_axes = true};
    entries[0].axis_c = entries[2].axis_c = 1;
    entries[4].role = IMGSTAT_ROLE_LEVEL;
    entries[5].has_axes = false;
    entries[6].role = IMGSTAT_ROLE_MASK;
}

TestSuite(page_group, .init = begin);

/* Checks the groups of all pages: each a string of page numbers. */
static void check(ImgstatGrouping by, const char *const *expected, uint32_t n)
{
    ChosenPage chosen[PAGES];
    PageGroups groups;
    for (uint32_t i = 0; i < PAGES; i++)
        chosen[i] = (ChosenPage){.page = i, .leads = true};
    cr_assert_eq(page_groups_make(by, &list, chosen, PAGES, &groups, NULL), IMGSTAT_OK);
    cr_assert_eq(groups.n, n);
    for (uint32_t g = 0; g < n; g++) {
        cr_assert_eq(page_group_pages(&groups, g), strlen(expected[g]));
        for (uint32_t i = 0; i < page_group_pages(&groups, g); i++)
            cr_assert_eq(groups.page[groups.first[g] + i], (uint32_t)(expected[g][i] - '0'));
    }
    page_groups_release(&groups);
}

Test(page_group, groups)
{
    static const char *const alone[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    static const char *const channels[] = {"02", "137", "4", "5", "6"};
    static const char *const file[] = {"012357", "4", "6"};
    check(IMGSTAT_BY_DEFAULT, alone, 8);
    check(IMGSTAT_BY_PAGE, alone, 8);
    check(IMGSTAT_BY_CHANNEL, channels, 5);
    check(IMGSTAT_BY_FILE, file, 3);
    check(IMGSTAT_BY_ALL, channels, 5);
}

Test(page_group, over_files)
{
    const GroupKey dapi = {.by = IMGSTAT_BY_CHANNEL, .number = 0, .name = "DAPI"};
    const GroupKey moved = {.by = IMGSTAT_BY_CHANNEL, .number = 2, .name = "DAPI"};
    const GroupKey gfp = {.by = IMGSTAT_BY_CHANNEL, .number = 0, .name = "GFP"};
    const GroupKey first = {.by = IMGSTAT_BY_CHANNEL, .number = 0};
    const GroupKey second = {.by = IMGSTAT_BY_CHANNEL, .number = 1};
    const GroupKey none = {.by = IMGSTAT_BY_ALL, .number = 0};
    cr_expect(page_group_same(&dapi, &moved));
    cr_expect(page_group_same(&first, &first));
    cr_expect(page_group_same(&none, &none));
    cr_expect_not(page_group_same(&dapi, &gfp));
    cr_expect_not(page_group_same(&dapi, &first));
    cr_expect_not(page_group_same(&first, &second));
    cr_expect_not(page_group_same(&first, &none));
    entries[1].axis_name = entries[3].axis_name = "GFP";
    entries[3].axis_repeats = true;
    cr_expect_str_eq(page_group_key(IMGSTAT_BY_ALL, &list, 1).name, "GFP");
    cr_expect_null(page_group_key(IMGSTAT_BY_ALL, &list, 3).name, "a name that repeats names none");
    cr_expect_eq(page_group_key(IMGSTAT_BY_ALL, &list, 5).by, IMGSTAT_BY_ALL);
}

Test(page_group, order_of_the_list)
{
    const ChosenPage chosen[] = {{.page = 3}, {.page = 2}, {.page = 1}};
    PageGroups groups;
    cr_assert_eq(page_groups_make(IMGSTAT_BY_CHANNEL, &list, chosen, 3, &groups, NULL), IMGSTAT_OK);
    cr_assert_eq(groups.n, 2);
    cr_assert_eq(groups.page[0], 3);
    cr_assert_eq(groups.page[1], 1);
    cr_assert_eq(groups.page[2], 2);
    cr_assert_eq(groups.first[1], 2);
    page_groups_release(&groups);
    cr_assert_eq(page_groups_make(IMGSTAT_BY_FILE, &list, chosen, 0, &groups, NULL), IMGSTAT_OK);
    cr_assert_eq(groups.n, 0);
    page_groups_release(&groups);
}
