/* SPDX-License-Identifier: MIT */
/* test_page_group.c: the groups that pages of a file form. */
#include "codec/page_group.h"
#include "support.h"

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

/* Groups of many pages, found by comparing each page with each before it. */
Test(page_group, random_pages)
{
    enum { MANY = 1500 };
    static PageEntry many[MANY];
    static ChosenPage chosen[MANY];
    static uint32_t group[MANY], place[MANY];
    const PageList all = {.entry = many, .n = MANY, .chain = MANY};
    uint64_t state = 24;
    for (uint32_t i = 0; i < MANY; i++) {
        many[i] =
            (PageEntry){.role = splitmix64(&state) % 5 ? IMGSTAT_ROLE_IMAGE : IMGSTAT_ROLE_LEVEL,
                        .has_axes = splitmix64(&state) % 7 > 0,
                        .axis_c = (uint32_t)splitmix64(&state) << 28};
        chosen[i].page = i;
    }
    for (uint32_t i = MANY - 1; i > 0; i--) {
        const uint32_t other = (uint32_t)(splitmix64(&state) % (i + 1)), page = chosen[i].page;
        chosen[i].page = chosen[other].page;
        chosen[other].page = page;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        const PageEntry *const one = &many[chosen[i].page];
        group[i] = UINT32_MAX;
        for (uint32_t k = 0; k < i && group[i] == UINT32_MAX; k++) {
            const PageEntry *const other = &many[chosen[k].page];
            if (one->role == IMGSTAT_ROLE_IMAGE && other->role == IMGSTAT_ROLE_IMAGE &&
                one->has_axes && other->has_axes && one->axis_c == other->axis_c)
                group[i] = group[k];
        }
        if (group[i] == UINT32_MAX)
            group[i] = n++;
    }
    PageGroups groups;
    cr_assert_eq(page_groups_make(IMGSTAT_BY_CHANNEL, &all, chosen, MANY, &groups, NULL),
                 IMGSTAT_OK);
    cr_assert_eq(groups.n, n);
    cr_assert_gt(n, 200);
    for (uint32_t i = 0; i < MANY; i++) {
        const uint32_t at = groups.first[group[i]] + place[group[i]]++;
        cr_assert_eq(groups.page[at], chosen[i].page, "page %u", i);
    }
    cr_assert_eq(groups.first[n], MANY);
    page_groups_release(&groups);
}

/* Every page and group number fits: nothing is cut to fewer bits. */
Test(page_group, largest_channel)
{
    PageEntry two[] = {{.has_axes = true, .axis_c = UINT32_MAX},
                       {.has_axes = true, .axis_c = UINT32_MAX - 1}};
    const PageList all = {.entry = two, .n = 2, .chain = 2};
    const ChosenPage chosen[] = {{.page = 0}, {.page = 1}};
    PageGroups groups;
    const GroupKey key = page_group_key(IMGSTAT_BY_CHANNEL, &all, 0);
    cr_assert_eq(key.by, IMGSTAT_BY_CHANNEL);
    cr_assert_eq(key.number, UINT32_MAX);
    cr_assert_eq(page_groups_make(IMGSTAT_BY_CHANNEL, &all, chosen, 2, &groups, NULL), IMGSTAT_OK);
    cr_assert_eq(groups.n, 2);
    page_groups_release(&groups);
    page_groups_release(&groups); /* what is released is empty */
}
