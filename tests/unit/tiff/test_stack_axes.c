/* SPDX-License-Identifier: MIT */
/* test_stack_axes.c: what texts of all three kinds declare; contradictions and bombs declare
 * nothing, soon and with one warning. */
#include "base/compiler.h"
#include "base/text_buffer.h"
#include "helper_decode.h"
#include "tiff/stack_axes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static DecodeHeard heard;

static const char *same_text(void *context, uint32_t page)
{
    return page == 0 ? context : NULL;
}

static StackAxes read_pages(const char *text, const StackPages *pages, ImagejMetadata imagej)
{
    StackAxes axes;
    Warnings warnings = {.warn = decode_hear, .context = &heard, .name = "a.tif"};
    const StackTexts texts = {
        .description = same_text, .context = (void *)(uintptr_t)text, .imagej = imagej};
    heard = (DecodeHeard){.n = 0};
    cr_assert(stack_axes_read(&texts, pages, &warnings, &axes, NULL) == IMGSTAT_OK);
    warnings_release(&warnings);
    return axes;
}

static StackAxes read_text(const char *text, uint32_t n, uint16_t samples)
{
    const StackPages pages = {.n = n, .samples = samples, .width = 48, .height = 64};
    return read_pages(text, &pages, (ImagejMetadata){.data = NULL});
}

static void expect_sizes(const StackAxes *axes, uint32_t c, uint32_t z, uint32_t t)
{
    cr_assert(heard.n == 0, "%s", heard.last);
    cr_assert(axes->plane != NULL);
    cr_expect(axes->size[AXIS_C] == c && axes->size[AXIS_Z] == z && axes->size[AXIS_T] == t,
              "%u %u %u", axes->size[AXIS_C], axes->size[AXIS_Z], axes->size[AXIS_T]);
}

static void expect_plane(const StackAxes *axes, uint32_t page, uint32_t c, uint32_t z, uint32_t t)
{
    const uint32_t *const at = axes->plane[page].at;
    cr_assert(page < axes->n && axes->plane[page].known);
    cr_expect(at[AXIS_C] == c && at[AXIS_Z] == z && at[AXIS_T] == t, "page %u: %u %u %u", page,
              at[AXIS_C], at[AXIS_Z], at[AXIS_T]);
}

/* No axes; warnings: 0 or 1. */
static void expect_none(const char *text, uint32_t n, unsigned warnings)
{
    StackAxes axes = read_text(text, n, 1);
    cr_expect(axes.plane == NULL, "%s", text);
    cr_expect(heard.n == (int)warnings, "%s: %d warnings: %s", text, heard.n, heard.last);
    stack_axes_release(&axes);
}

#define OME(pixels)                                                                             \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<OME "                                         \
    "xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\"><Image ID=\"Image:0\">" pixels \
    "</Image></OME>"
#define PIXELS(c, z, t) \
    "<Pixels DimensionOrder=\"XYCZT\" SizeC=\"" c "\" SizeZ=\"" z "\" SizeT=\"" t "\">"

Test(stack_axes, ome)
{
    StackAxes axes =
        read_text(OME(PIXELS("3", "5", "2") "<Channel Name=\"DAPI\"/><Channel "
                                            "Name=\"A &amp; \xC2\xB5\"/><TiffData/></Pixels>"),
                  30, 1);
    expect_sizes(&axes, 3, 5, 2);
    expect_plane(&axes, 0, 0, 0, 0);
    expect_plane(&axes, 4, 1, 1, 0);
    expect_plane(&axes, 29, 2, 4, 1);
    cr_expect_str_eq(axes.name[0], "DAPI");
    cr_expect_str_eq(axes.name[1], "A & \xC2\xB5");
    cr_expect_str_eq(axes.name[2], "");
    stack_axes_release(&axes);
}

Test(stack_axes, ome_order_and_places)
{
    StackAxes axes =
        read_text(OME("<Pixels DimensionOrder=\"XYTZC\" SizeC=\"2\" SizeZ=\"1\" SizeT=\"2\">"
                      "<TiffData IFD=\"2\" PlaneCount=\"2\"/><TiffData FirstC=\"1\" FirstT=\"1\" "
                      "IFD=\"0\"/><TiffData FirstC=\"1\" IFD=\"1\"/></Pixels>"),
                  4, 1);
    expect_sizes(&axes, 2, 1, 2);
    expect_plane(&axes, 0, 1, 0, 1);
    expect_plane(&axes, 1, 1, 0, 0);
    expect_plane(&axes, 2, 0, 0, 0);
    expect_plane(&axes, 3, 0, 0, 1);
    stack_axes_release(&axes);
}

Test(stack_axes, ome_samples)
{
    StackAxes axes =
        read_text(OME(PIXELS("6", "2", "1") "<Channel SamplesPerPixel=\"3\" Name=\"a\"/><Channel "
                                            "SamplesPerPixel=\"3\" Name=\"b\"/></Pixels>"),
                  4, 3);
    expect_sizes(&axes, 2, 2, 1);
    expect_plane(&axes, 3, 1, 1, 0);
    stack_axes_release(&axes);
    axes = read_text(OME(PIXELS("3", "2", "1") "</Pixels>"), 2, 3); /* SamplesPerPixel left out */
    expect_sizes(&axes, 1, 2, 1);
    stack_axes_release(&axes);
}

#define IMAGE(names) PIXELS("2", "1", "1") names "</Pixels>"
#define NAMES(a, b)  "<Channel Name=\"" a "\"/><Channel Name=\"" b "\"/>"

Test(stack_axes, ome_images)
{
    StackAxes axes = read_text(OME(IMAGE(NAMES("u", "v")) "</Image><Image>" IMAGE(
                                   NAMES("u", "v")) "</Image><Image>" IMAGE(NAMES("x", "y"))),
                               6, 1);
    expect_sizes(&axes, 4, 1, 1);
    expect_plane(&axes, 1, 1, 0, 0);
    expect_plane(&axes, 3, 1, 0, 0); /* the second position shares the channels of the first */
    expect_plane(&axes, 5, 3, 0, 0);
    cr_expect(axes.plane[3].image == 1);
    cr_expect_str_eq(axes.name[3], "y");
    stack_axes_release(&axes);
}

Test(stack_axes, ome_of_several_files)
{
    StackAxes axes = read_text(
        "<OME UUID=\"urn:uuid:a\"><Image>" PIXELS(
            "2", "1", "1") "<TiffData FirstC=\"0\" IFD=\"0\"><UUID "
                           "FileName=\"b.tif\">urn:uuid:b</UUID></TiffData><TiffData FirstC=\"1\" "
                           "IFD=\"0\"><UUID>urn:uuid:a</UUID></TiffData></Pixels></Image></OME>",
        1, 1);
    expect_sizes(&axes, 2, 1, 1);
    expect_plane(&axes, 0, 1, 0, 0);
    stack_axes_release(&axes);
    axes = read_text("<OME><BinaryOnly MetadataFile=\"x.companion.ome\"/></OME>", 3, 1);
    cr_expect(axes.plane == NULL && heard.n == 0);
}

Test(stack_axes, ome_contradictions)
{
    static const char *const texts[] = {
        OME(PIXELS("3", "5", "2") "<TiffData/></Pixels>"),
        OME(PIXELS("-1", "1", "1") "</Pixels>"),
        OME(PIXELS("0", "1", "1") "</Pixels>"),
        OME(PIXELS("4294967297", "4294967296", "1") "</Pixels>"),
        OME(PIXELS("1", "2147483647", "1") "</Pixels>"),
        OME(PIXELS("1", "1", "99999999999999999999999") "</Pixels>"),
        OME(PIXELS("1", "1", "29") "<TiffData IFD=\"1\" PlaneCount=\"29\"/></Pixels>"),
        OME(PIXELS("1", "1", "29") "<TiffData IFD=\"0\" PlaneCount=\"2147483647\"/></Pixels>"),
        OME(PIXELS("29", "1", "1") "<TiffData IFD=\"0\" FirstC=\"29\"/></Pixels>"),
        OME(PIXELS("2", "1", "1") "<TiffData IFD=\"0\"/><TiffData IFD=\"0\"/></Pixels>"),
        OME(PIXELS("1", "1", "28") "<TiffData/></Pixels>"), /* a page is of no image */
        OME("<Pixels DimensionOrder=\"XYCCT\" SizeC=\"29\"></Pixels>"),
        OME("<Pixels DimensionOrder=\"CXYZT\" SizeC=\"29\"></Pixels>"),
        OME(PIXELS("29", "1", "1") "<Channel SamplesPerPixel=\"0\"/></Pixels>"),
        OME(PIXELS("1", "29", "1") "<Channel/><Channel/></Pixels>"),
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        expect_none(texts[i], 29, 1);
    cr_expect_str_eq(heard.last,
                     "a.tif: its OME-XML contradicts its 29 pages; its axes are not used");
}

Test(stack_axes, ome_damage)
{
    static const char *const texts[] = {
        "<?xml version=\"1.0\"?><!DOCTYPE OME [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b "
        "\"&a;&a;&a;&a;&a;&a;&a;&a;\">]><OME><Image>&b;</Image></OME>",
        "<!DOCTYPE OME SYSTEM \"file:///etc/passwd\"><OME></OME>",
        "<OME><Image></OME>",
        "<OME>&b;</OME>",
        "<OME a=\"\xFF\"></OME>",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        expect_none(texts[i], 2, 1);
    cr_expect_str_eq(heard.last,
                     "a.tif: its OME-XML is damaged or too large; its axes are not used");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Texts that once took parsers quadratic time or much memory. */
Test(stack_axes, ome_bombs)
{
    static const struct {
        const char *begin, *piece, *end;
    } bombs[] = {
        {"<OME>", "<a>", "</OME>"},             /* deep */
        {"<OME ", " xmlns:a=\"b\"", "></OME>"}, /* namespaces */
        {"<OME", " a=\"b\"", "></OME>"},        /* attributes */
        {"<OME>", "<a b=\"c\"/>", "</OME>"},    /* many */
        {"<OME><!--", "- ", "--></OME>"},       /* one comment */
        {"<OME><![CDATA[", "]", "]]></OME>"},   /* one section */
        {"<OME>", "x", "</OME>"},               /* one text */
        {"<OME>", "&#65;", "</OME>"},           /* character references */
        {"<OME>", "&lt;", "</OME>"},            /* entities that XML defines */
        {"<OME><?a", " b", "?></OME>"},         /* one instruction */
        {"<OME><Image><Pixels>", "<TiffData/>", "</Pixels></Image></OME>"},
        {"<OME><Image><Pixels SizeC=\"65536\">", "<Channel/>", "</Pixels></Image></OME>"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bombs); i++) {
        TextBuffer text = {.data = NULL};
        text_print(&text, "%s", bombs[i].begin);
        while (text.n < (size_t)8 << 20)
            text_add(&text, bombs[i].piece, strlen(bombs[i].piece));
        text_print(&text, "%s", bombs[i].end);
        const double begin = seconds();
        StackAxes axes = read_text(text.data, 7, 1);
        const double took = seconds() - begin;
        printf("bomb %zu: %.2f s %s\n", i, took, heard.last);
        cr_expect(axes.plane == NULL);
        cr_expect(took < 20, "bomb %zu takes %f s", i, took); /* sanitizers included */
        stack_axes_release(&axes);
        text_release(&text);
    }
}

Test(stack_axes, ome_of_65535_planes)
{
    TextBuffer text = {.data = NULL};
    text_print(&text, "<OME><Image>" PIXELS("5", "13107", "1"));
    for (unsigned i = 0; i < 65535; i++)
        text_print(&text,
                   "<TiffData FirstC=\"%u\" FirstT=\"0\" FirstZ=\"%u\" IFD=\"%u\" "
                   "PlaneCount=\"1\"><UUID FileName=\"a.ome.tif\">urn:uuid:a</UUID></TiffData>",
                   i % 5, i / 5, i);
    for (unsigned i = 0; i < 65535; i++)
        text_print(&text, "<Plane TheC=\"%u\" TheZ=\"%u\" TheT=\"0\" DeltaT=\"0.1\"/>", i % 5,
                   i / 5);
    text_print(&text, "</Pixels></Image></OME>");
    const double begin = seconds();
    StackAxes axes = read_text(text.data, 65535, 1);
    printf("65535 planes, %zu bytes: %.3f s\n", text.n, seconds() - begin);
    expect_sizes(&axes, 5, 13107, 1);
    expect_plane(&axes, 65534, 4, 13106, 0);
    stack_axes_release(&axes);
    text_release(&text);
}

static uint64_t contiguous(const char *text, uint16_t samples)
{
    const StackPages page = {.n = 1, .samples = samples, .width = 48, .height = 64};
    return stack_planes_contiguous(text, &page);
}

Test(stack_axes, imagej)
{
    StackAxes axes = read_text("ImageJ=1.53t\nimages=30\nchannels=3\nslices=5\nframes=2\n"
                               "hyperstack=true\nmin=80.0\n",
                               30, 1);
    expect_sizes(&axes, 3, 5, 2);
    expect_plane(&axes, 4, 1, 1, 0);
    expect_plane(&axes, 29, 2, 4, 1);
    stack_axes_release(&axes);
    axes = read_text("ImageJ=1.53t\nimages=7\n", 7, 1);
    expect_sizes(&axes, 1, 7, 1);
    stack_axes_release(&axes);
    expect_none("ImageJ=1.53t\nmin=1\n", 1, 0);
    expect_none("ImageJ=1.53t\nimages=8\n", 7, 1);
    expect_none("ImageJ=1.53t\nimages=7\nchannels=2\nslices=3\n", 7, 1);
    expect_none("ImageJ=1.53t\nimages=-7\n", 7, 1);
    expect_none("ImageJ=1.53t\nimages=99999999999999999\n", 7, 1);
    expect_none("ImageJ=1.53t\nimages=7\nslices=2147483647\n", 7, 1);
    cr_expect_str_eq(
        heard.last, "a.tif: its ImageJ description contradicts its 7 pages; its axes are not used");
    cr_expect(contiguous("ImageJ=1.53t\nimages=30\n", 1) == 30);
    cr_expect(contiguous("ImageJ=1.53t\n", 1) == 1);
    cr_expect(contiguous("images=30\n", 1) == 1);
}

Test(stack_axes, levels_are_passed_over)
{
    static const bool other[6] = {false, true, false, true, true, false};
    const StackPages pages = {.n = 6, .other = other, .samples = 1};
    StackAxes axes =
        read_pages("ImageJ=1.5\nimages=3\nslices=3\n", &pages, (ImagejMetadata){.data = NULL});
    expect_sizes(&axes, 1, 3, 1);
    expect_plane(&axes, 2, 0, 1, 0);
    expect_plane(&axes, 5, 0, 2, 0);
    cr_expect(!axes.plane[1].known);
    stack_axes_release(&axes);
}

Test(stack_axes, imagej_labels)
{
    static const uint8_t data[] = "JIJIlbal\4\0\0\0"
                                  "a\0b\0"
                                  "\xB5\0"
                                  "a\0b\0"
                                  "c\0";
    static const uint32_t counts[] = {12, 4, 2, 4, 2};
    const ImagejMetadata imagej = {
        .data = data, .bytes = sizeof data - 1, .counts = counts, .n_counts = 5};
    const StackPages pages = {.n = 4, .samples = 1};
    StackAxes axes = read_pages("ImageJ=1.5\nimages=4\nchannels=2\nslices=2\n", &pages, imagej);
    expect_sizes(&axes, 2, 2, 1);
    cr_expect_str_eq(axes.name[0], "ab");
    cr_expect_str_eq(axes.name[1], ""); /* its planes have labels that differ */
    stack_axes_release(&axes);
    axes = read_pages("ImageJ=1.5\nimages=4\nchannels=4\n", &pages, imagej);
    cr_expect_str_eq(axes.name[1], "\xC2\xB5");
    stack_axes_release(&axes);
}

Test(stack_axes, shaped)
{
    StackAxes axes = read_text("{\"shape\": [2, 5, 3, 64, 48], \"axes\": \"TZCYX\"}", 30, 1);
    expect_sizes(&axes, 3, 5, 2);
    expect_plane(&axes, 4, 1, 1, 0);
    stack_axes_release(&axes);
    axes = read_text("{\"shape\": [3, 5, 64, 48, 3], \"axes\": \"CTYXS\"}", 15, 3);
    expect_sizes(&axes, 3, 1, 5);
    expect_plane(&axes, 6, 1, 0, 1);
    stack_axes_release(&axes);
    axes = read_text("{\"shape\": [2, 3, 64, 48, 3], \"axes\": \"TZYXS\"}", 6, 3);
    expect_sizes(&axes, 1, 3, 2); /* as many planes as samples */
    stack_axes_release(&axes);
    axes = read_text("{\"shape\": [4, 3, 64, 48], \"axes\": \"ZSYX\"}", 4, 3);
    expect_sizes(&axes, 1, 4, 1);
    stack_axes_release(&axes);
    expect_none("{\"shape\": [64, 48]}", 1, 0);
    expect_none("{\"shape\": [2, 5, 64, 48]}", 10, 0);
    expect_none("{\"shape\": [2, 5, 64, 48], \"axes\": \"QRYX\"}", 10, 0);
    expect_none("{\"a\": 1}", 10, 0);
    expect_none("{\"shape\": [2, 5, 64, 48], \"axes\": \"TZYX\"}", 11, 1);
    expect_none("{\"shape\": [2, -5, 64, 48], \"axes\": \"TZYX\"}", 10, 1);
    expect_none("{\"shape\": [4294967296, 4294967296, 64, 48], \"axes\": \"TZYX\"}", 10, 1);
    expect_none("{\"shape\": [2147483647, 2147483647, 64, 48], \"axes\": \"TZYX\"}", 10, 1);
    expect_none("{\"shape\": [2, 5, 64, 48], \"axes\": \"ZZYX\"}", 10, 0);
    cr_expect(contiguous("{\"shape\": [2, 5, 64, 48], \"axes\": \"TZYX\", \"truncated\": true}",
                         1) == 10);
    cr_expect(
        contiguous("{\"shape\": [3, 64, 48, 3], \"axes\": \"ZYXS\", \"truncated\": true}", 3) == 3);
    cr_expect(contiguous("{\"shape\": [3, 64, 48, 1], \"truncated\": true}", 1) == 3);
    cr_expect(contiguous("{\"shape\": [3, 64, 48], \"truncated\": true}", 1) == 3);
    cr_expect(contiguous("{\"shape\": [2, 5, 64, 48], \"axes\": \"TZYX\"}", 1) == 1);
    cr_expect(contiguous("{\"shape\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 1) == 1);
}

static const char *two_series(void *context, uint32_t page)
{
    (void)context;
    return page == 0   ? "{\"shape\": [2, 64, 48], \"axes\": \"ZYX\"}"
           : page == 2 ? "{\"shape\": [3, 64, 48], \"axes\": \"CYX\"}"
                       : NULL;
}

/* GDAL copies the text of a page to a file of other samples, with levels and masks. */
static const char *copied(void *context, uint32_t page)
{
    return page == 0 ? context : NULL;
}

Test(stack_axes, shaped_copied)
{
    static const char *const texts[] = {"{\"shape\": [600, 700, 4]}",
                                        "{\"shape\": [600, 700, 4], \"axes\": \"YXS\"}",
                                        "{\"shape\": [4, 600, 700], \"axes\": \"CYX\"}",
                                        "{\"shape\": [4, 600, 700], \"axes\": \"SYX\"}"};
    static const bool other[8] = {false, true, true, true, true, true, true, true};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const StackPages pages = {
            .n = 8, .other = other, .samples = 3, .width = 700, .height = 600};
        const StackTexts one = {.description = copied, .context = (void *)(uintptr_t)texts[i]};
        Warnings warnings = {.warn = decode_hear, .context = &heard, .name = "a.tif"};
        StackAxes axes;
        heard = (DecodeHeard){.n = 0};
        cr_assert_eq(stack_axes_read(&one, &pages, &warnings, &axes, NULL), IMGSTAT_OK);
        cr_expect_eq(heard.n, 0, "%s: %s", texts[i], heard.last);
        cr_expect_null(axes.plane);
        stack_axes_release(&axes);
        warnings_release(&warnings);
    }
    const StackPages gray = {.n = 8, .other = other, .samples = 1, .width = 700, .height = 600};
    const StackTexts missing = {.description = copied, .context = (void *)(uintptr_t)texts[2]};
    Warnings warnings = {.warn = decode_hear, .context = &heard, .name = "a.tif"};
    StackAxes axes;
    heard = (DecodeHeard){.n = 0};
    cr_assert_eq(stack_axes_read(&missing, &gray, &warnings, &axes, NULL), IMGSTAT_OK);
    cr_expect_str_eq(heard.last,
                     "a.tif: its shape in JSON contradicts its 1 page; its axes are not used");
    warnings_release(&warnings);
}

Test(stack_axes, shaped_series)
{
    const StackTexts texts = {.description = two_series};
    const StackPages pages = {.n = 5, .samples = 1};
    StackAxes axes;
    cr_assert(stack_axes_read(&texts, &pages, NULL, &axes, NULL) == IMGSTAT_OK);
    expect_sizes(&axes, 4, 2, 1);
    expect_plane(&axes, 1, 0, 1, 0);
    expect_plane(&axes, 4, 3, 0, 0);
    stack_axes_release(&axes);
}

static const char *two_series_with_levels(void *context, uint32_t page)
{
    (void)context;
    return page == 0   ? "{\"shape\": [2, 64, 48], \"axes\": \"ZYX\"}"
           : page == 4 ? "{\"shape\": [3, 64, 48], \"axes\": \"CYX\"}"
                       : NULL;
}

Test(stack_axes, levels_of_shaped_series_are_passed_over)
{
    static const bool other[9] = {[1] = true, [3] = true, [5] = true, [8] = true};
    const StackTexts texts = {.description = two_series_with_levels};
    const StackPages pages = {.n = 9, .other = other, .samples = 1};
    Warnings warnings = {.warn = decode_hear, .context = &heard, .name = "a.tif"};
    StackAxes axes;
    heard = (DecodeHeard){.n = 0};
    cr_assert(stack_axes_read(&texts, &pages, &warnings, &axes, NULL) == IMGSTAT_OK);
    expect_sizes(&axes, 4, 2, 1);
    expect_plane(&axes, 2, 0, 1, 0);
    expect_plane(&axes, 4, 1, 0, 0);
    expect_plane(&axes, 7, 3, 0, 0);
    cr_expect(!axes.plane[1].known && !axes.plane[5].known && !axes.plane[8].known);
    stack_axes_release(&axes);
    warnings_release(&warnings);
}

Test(stack_axes, select)
{
    StackAxes axes = read_text("ImageJ=1.5\nimages=30\nchannels=3\nslices=5\nframes=2\n", 30, 1);
    StackSelection kept;
    const uint32_t channel[] = {1, 4, 7, 10, 13}, odd[] = {0, 4};
    cr_assert(stack_axes_select(&axes, 0, channel, 5, &kept, NULL) == IMGSTAT_OK);
    cr_expect(kept.is_grid && kept.size[AXIS_C] == 1 && kept.size[AXIS_Z] == 5 &&
              kept.size[AXIS_T] == 1);
    cr_expect(kept.kept[AXIS_C][0] == UINT32_MAX && kept.kept[AXIS_C][1] == 0);
    stack_selection_release(&kept);
    cr_assert(stack_axes_select(&axes, 0, odd, 2, &kept, NULL) == IMGSTAT_OK);
    cr_expect(!kept.is_grid && kept.size[AXIS_C] == 2 && kept.size[AXIS_Z] == 2);
    stack_selection_release(&kept);
    stack_axes_release(&axes);
}
