/* SPDX-License-Identifier: MIT */
/* test_field_rewrite.c: each rewriter against the text that is expected; what need not change is
 * the same byte for byte. */
#include "base/compiler.h"
#include "helper_decode.h"
#include "tiff/field_rewrite.h"
#include "tiff/imagej_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static DecodeHeard heard;

static Warnings warnings;

static Warnings *fresh_warnings(void)
{
    warnings_release(&warnings);
    warnings = (Warnings){.warn = decode_hear, .context = &heard, .name = "a.tif"};
    heard = (DecodeHeard){.n = 0};
    return &warnings;
}

/* Values of 16 bits become values of 8. */
static const FieldChange mapped = {.values = true,
                                   .from_sample = IMGSTAT_U16,
                                   .sample = IMGSTAT_U8,
                                   .from_bits = 16,
                                   .bits = 8,
                                   .from_samples = 1,
                                   .samples = 1,
                                   .low = 0,
                                   .high = 255};

static FieldChange selected(const StackAxes *axes, const uint32_t *pages, uint32_t n)
{
    FieldChange change = mapped;
    change.values = false;
    change.sample = IMGSTAT_U16;
    change.bits = 16;
    change.axes = axes->plane ? axes : NULL;
    change.pages = pages;
    change.n_pages = n;
    change.from_pages = axes->n;
    return change;
}

static const char *only_text(void *context, uint32_t page)
{
    return page == 0 ? context : NULL;
}

static StackAxes read_axes(const char *text, uint32_t n)
{
    const StackPages pages = {.n = n, .samples = 1};
    const StackTexts texts = {.description = only_text, .context = (void *)(uintptr_t)text};
    StackAxes axes;
    cr_assert(stack_axes_read(&texts, &pages, NULL, &axes, NULL) == IMGSTAT_OK);
    return axes;
}

/* expected: NULL for a field that goes, the text itself for one that stays. */
static void expect_result(FieldResult *got, const char *text, const char *expected)
{
    const FieldFate fate = !expected ? FIELD_GOES : expected == text ? FIELD_STAYS : FIELD_CHANGES;
    cr_expect(got->fate == fate, "%d, not %d: %s", (int)got->fate, (int)fate, text);
    if (fate == FIELD_CHANGES && got->text.data)
        cr_expect_str_eq(got->text.data, expected);
    field_result_release(got);
}

static void expect_description(const char *text, const FieldChange *change, const char *expected,
                               const char *warning)
{
    FieldResult got;
    cr_assert(description_rewrite(text, change, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    expect_result(&got, text, expected);
    cr_expect_str_eq(heard.last, warning);
}

#define ITEM(more, value) "  <Item " more ">" value "</Item>\n"

Test(field_rewrite, gdal)
{
    static const char keep[] =
        "<GDALMetadata>\n" ITEM("name='a' sample=\"0\"", "x &quot; &#181;") "</GDALMetadata>\n";
    FieldResult got;
    cr_assert(gdal_metadata_rewrite(keep, &mapped, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    expect_result(&got, keep, keep);
    static const char text[] =
        "<GDALMetadata>\n" ITEM("name=\"STATISTICS_MAXIMUM\" sample=\"0\"", "886")
            ITEM("name='a' sample=\"0\"", "x &quot; &#181;")
                ITEM("name=\"STATISTICS_MEAN\" sample=\"0\"", "1")
                    ITEM("name=\"OFFSET\" sample=\"0\" "
                         "role=\"offset\"",
                         "1000") "</GDALMetadata>\n";
    cr_assert(gdal_metadata_rewrite(text, &mapped, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    expect_result(&got, text, keep);
    cr_expect_str_eq(heard.last,
                     "a.tif: scale and offset of its bands are left out: they are true of "
                     "the old values only");
    static const char all[] =
        "<GDALMetadata>" ITEM("name=\"STATISTICS_MAXIMUM\"", "886") "</GDALMetadata>";
    cr_assert(gdal_metadata_rewrite(all, &mapped, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    expect_result(&got, all, NULL);
    cr_expect(heard.n == 0);
    cr_assert(gdal_metadata_rewrite("<GDALMetadata>", &mapped, fresh_warnings(), &got, NULL) ==
              IMGSTAT_OK);
    expect_result(&got, "", NULL);
    cr_expect_str_eq(heard.last, "a.tif: its GDAL metadata are damaged and left out");
    const FieldChange none = {.values = false};
    cr_assert(gdal_metadata_rewrite(text, &none, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    expect_result(&got, text, text);
}

Test(field_rewrite, gdal_band_names)
{
    char names[3][STACK_NAME_BYTES];
    const char *const text = "<GDALMetadata>" ITEM(
        "name=\"DESCRIPTION\" sample=\"1\" role=\"description\"", "near &amp; infrared")
        ITEM("name=\"DESCRIPTION\" sample=\"7\" role=\"description\"", "x") "</GDALMetadata>";
    const char *const damaged = "<GDALMetadata><Item sample=\"0\" role=\"description\">a</Item>";
    cr_expect(gdal_band_names(text, 3, names, NULL) == IMGSTAT_OK);
    cr_expect_str_eq(names[0], "");
    cr_expect_str_eq(names[1], "near & infrared");
    cr_expect(gdal_band_names(damaged, 3, names, NULL) == IMGSTAT_OK);
    cr_expect_str_eq(names[0], "");
}

Test(field_rewrite, imagej_values)
{
    expect_description("ImageJ=1.53t\nunit=micron\nmin=80.0\nmax=1010.0\n", &mapped,
                       "ImageJ=1.53t\nunit=micron\nmin=0.0\nmax=255.0\n", "");
    expect_description("ImageJ=1.53t\nmin=80.0\ncf=0\nc0=-32768\nc1=1\nvunit=counts\nloop=false\n",
                       &mapped, "ImageJ=1.53t\nmin=0.0\nloop=false\n",
                       "a.tif: ImageJ's calibration of values is left out: it is true of the old "
                       "values only");
    expect_description("Taken by the microscope\nmin=80.0\n", &mapped,
                       "Taken by the microscope\nmin=80.0\n" + 0, "");
    FieldChange unknown = mapped;
    unknown.high = unknown.low = 0;
    expect_description("ImageJ=1\nmin=80.0\nmax=90\n", &unknown, "ImageJ=1\n", "");
}

#define HYPER \
    "ImageJ=1.53t\nimages=30\nchannels=3\nslices=5\nframes=2\nhyperstack=true\nmode=grayscale\n"

Test(field_rewrite, imagej_pages)
{
    StackAxes axes = read_axes(HYPER, 30);
    static const uint32_t one[] = {0}, channel[] = {1, 4, 7, 10, 13, 16, 19, 22, 25, 28},
                          some[] = {0, 4, 8}, time[] = {0, 1, 2, 3, 4, 5};
    FieldChange change = selected(&axes, one, 1);
    expect_description(HYPER, &change, "ImageJ=1.53t\n", "");
    change = selected(&axes, channel, 10);
    expect_description(HYPER, &change,
                       "ImageJ=1.53t\nimages=10\nslices=5\nframes=2\nhyperstack=true\n", "");
    change = selected(&axes, some, 3);
    expect_description(HYPER, &change, "ImageJ=1.53t\nimages=3\nslices=3\n", "");
    change = selected(&axes, time, 6);
    expect_description(
        HYPER, &change,
        "ImageJ=1.53t\nimages=6\nchannels=3\nslices=2\nhyperstack=true\nmode=grayscale\n", "");
    stack_axes_release(&axes);
}

/* Big-endian: ranges of 2 channels, 2 tables of colours, 4 labels. */
static const uint8_t parts[] = "IJIJ"
                               "rang\0\0\0\1"
                               "luts\0\0\0\2"
                               "labl\0\0\0\4"
                               "\x40\x54\0\0\0\0\0\0\x40\x8F\x40\0\0\0\0\0"
                               "\x40\x59\0\0\0\0\0\0\x40\x69\0\0\0\0\0\0"
                               "LUT1LUT2"
                               "\0a\0b\0c\0d";
static const uint32_t part_counts[] = {28, 32, 4, 4, 2, 2, 2, 2};

Test(field_rewrite, imagej_metadata)
{
    const ImagejMetadata from = {
        .data = parts, .bytes = sizeof parts - 1, .counts = part_counts, .n_counts = 8};
    StackAxes axes = read_axes("ImageJ=1\nimages=4\nchannels=2\nslices=2\n", 4);
    FieldResult got;
    cr_assert(imagej_metadata_rewrite(&from, &mapped, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    cr_assert(got.fate == FIELD_CHANGES && got.n_counts == 8 && got.text.n == from.bytes);
    cr_expect(memcmp(got.text.data, parts, 28) == 0);
    static const uint8_t range[16] = "\0\0\0\0\0\0\0\0\x40\x6F\xE0"; /* 0, 255 */
    cr_expect(memcmp(got.text.data + 28, range, 16) == 0);
    cr_expect(memcmp(got.text.data + 44, range, 16) == 0);
    cr_expect(memcmp(got.text.data + 60, parts + 60, from.bytes - 60) == 0);
    cr_expect(memcmp(got.counts, part_counts, sizeof part_counts) == 0);
    field_result_release(&got);

    static const uint32_t second[] = {1, 3};
    FieldChange change = selected(&axes, second, 2);
    cr_assert(imagej_metadata_rewrite(&from, &change, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    static const uint8_t left[] = "IJIJ"
                                  "rang\0\0\0\1"
                                  "luts\0\0\0\1"
                                  "labl\0\0\0\2"
                                  "\x40\x59\0\0\0\0\0\0\x40\x69\0\0\0\0\0\0"
                                  "LUT2"
                                  "\0b\0d";
    static const uint32_t left_counts[] = {28, 16, 4, 2, 2};
    cr_assert(got.fate == FIELD_CHANGES && got.n_counts == 5 && got.text.n == sizeof left - 1);
    cr_expect(memcmp(got.text.data, left, sizeof left - 1) == 0);
    cr_expect(memcmp(got.counts, left_counts, sizeof left_counts) == 0);
    field_result_release(&got);

    const ImagejMetadata damaged = {
        .data = parts, .bytes = 30, .counts = part_counts, .n_counts = 8};
    cr_assert(imagej_metadata_rewrite(&damaged, &mapped, fresh_warnings(), &got, NULL) ==
              IMGSTAT_OK);
    cr_expect(got.fate == FIELD_GOES && heard.n == 1);
    stack_axes_release(&axes);
}

#define HEAD "<?xml version='1.0'?>\n<!-- kept -->\n<OME xmlns=\"ome\""
#define CHANNELS                                                                       \
    "<Channel ID=\"0\" Name=\"a &lt; b\"/>\n <Channel ID=\"1\"><LightPath/></Channel>" \
    "<Channel ID=\"2\"/>"

Test(field_rewrite, ome_values)
{
    static const char format[] =
        HEAD "%s><Image><Pixels Type=\"%s\" SizeC=\"1\"\n SignificantBits='%s' SizeZ=\"1\" "
             "SizeT=\"1\" "
             "DimensionOrder=\"XYCZT\"><TiffData IFD=\"0\">%s</TiffData></Pixels></Image></OME>";
    char text[512], expected[512];
    snprintf(text, sizeof text, format, " UUID=\"urn:uuid:a\"", "uint16", "12",
             "<UUID FileName=\"a.tif\">urn:uuid:a</UUID>");
    snprintf(expected, sizeof expected, format, "", "uint8", "8", "");
    StackAxes axes = read_axes(text, 1);
    FieldChange change = mapped;
    change.axes = &axes;
    expect_description(text, &change, expected, "");
    change.sample = IMGSTAT_F16;
    expect_description(text, &change, NULL,
                       "a.tif: its OME-XML is left out: it has no name for the new sample type");
    snprintf(text, sizeof text, "<OME><Image></OME>");
    expect_description(text, &mapped, NULL,
                       "a.tif: its OME-XML is left out: it is damaged or too large");
    snprintf(text, sizeof text, format, "", "uint16", "16", "");
    change.sample = change.from_sample;
    change.bits = change.from_bits;
    char full[512]; /* the same type, of more bits than the values had */
    snprintf(text, sizeof text, format, "", "uint16", "12", "");
    snprintf(full, sizeof full, format, "", "uint16", "16", "");
    expect_description(text, &change, full, "");
    stack_axes_release(&axes);
}

Test(field_rewrite, ome_pages)
{
    static const char text[] = HEAD
        " UUID=\"u\"><Image><Pixels SizeC=\"3\" SizeZ=\"2\" SizeT=\"1\" "
        "DimensionOrder=\"XYCZT\">" CHANNELS
        "\n<TiffData/>\n<Plane TheC=\"0\" TheZ=\"0\" TheT=\"0\"/>\n<Plane TheC=\"1\" TheZ=\"1\" "
        "TheT=\"0\" DeltaT='7'><A/></Plane></Pixels></Image><ROI><Rectangle TheZ=\"0\"/><Rectangle "
        "TheZ=\"1\"/></ROI></OME>";
    StackAxes axes = read_axes(text, 6);
    static const uint32_t one[] = {4}, channel[] = {1, 4}, odd[] = {1, 5};
    FieldChange change = selected(&axes, one, 1);
    expect_description(
        text, &change,
        HEAD "><Image><Pixels SizeC=\"1\" SizeZ=\"1\" SizeT=\"1\" DimensionOrder=\"XYCZT\">\n "
             "<Channel ID=\"1\"><LightPath/></Channel>\n<TiffData IFD=\"0\" PlaneCount=\"1\"/>\n"
             "<Plane TheC=\"0\" TheZ=\"0\" TheT=\"0\" DeltaT='7'><A/></Plane></Pixels></Image>"
             "<ROI><Rectangle TheZ=\"0\"/></ROI></OME>",
        "");
    change = selected(&axes, channel, 2);
    expect_description(
        text, &change,
        HEAD "><Image><Pixels SizeC=\"1\" SizeZ=\"2\" SizeT=\"1\" DimensionOrder=\"XYCZT\">\n "
             "<Channel ID=\"1\"><LightPath/></Channel>\n<TiffData IFD=\"0\" PlaneCount=\"2\"/>\n"
             "<Plane TheC=\"0\" TheZ=\"1\" TheT=\"0\" DeltaT='7'><A/></Plane></Pixels></Image>"
             "<ROI><Rectangle TheZ=\"0\"/><Rectangle TheZ=\"1\"/></ROI></OME>",
        "");
    change = selected(&axes, odd, 2);
    FieldResult got;
    cr_assert(description_rewrite(text, &change, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    cr_expect(strstr(got.text.data, "<TiffData FirstC=\"0\" FirstZ=\"0\" FirstT=\"0\" IFD=\"0\" "
                                    "PlaneCount=\"1\"/><TiffData FirstC=\"1\" FirstZ=\"1\" "
                                    "FirstT=\"0\" IFD=\"1\" PlaneCount=\"1\"/>"));
    field_result_release(&got);
    /* What is written is read again as what is left. */
    change = selected(&axes, channel, 2);
    cr_assert(description_rewrite(text, &change, fresh_warnings(), &got, NULL) == IMGSTAT_OK);
    StackAxes again = read_axes(got.text.data, 2);
    cr_expect(again.n == 2 && again.size[AXIS_C] == 1 && again.size[AXIS_Z] == 2);
    stack_axes_release(&again);
    field_result_release(&got);
    stack_axes_release(&axes);
}

#define IMAGE(id)     \
    "<Image ID=\"" id \
    "\"><Pixels SizeC=\"1\" SizeZ=\"2\" SizeT=\"1\" DimensionOrder=\"XYCZT\"></Pixels></Image>"

Test(field_rewrite, ome_images)
{
    static const char text[] = "<OME>" IMAGE("0") "\n" IMAGE("1") "\n" IMAGE("2") "</OME>";
    StackAxes axes = read_axes(text, 6);
    static const uint32_t pages[] = {2, 3, 5};
    const FieldChange change = selected(&axes, pages, 3);
    expect_description(
        text, &change,
        "<OME>\n<Image ID=\"1\"><Pixels SizeC=\"1\" SizeZ=\"2\" SizeT=\"1\" "
        "DimensionOrder=\"XYCZT\"><TiffData IFD=\"0\" PlaneCount=\"2\"/></Pixels></Image>\n"
        "<Image ID=\"2\"><Pixels SizeC=\"1\" SizeZ=\"1\" SizeT=\"1\" "
        "DimensionOrder=\"XYCZT\"><TiffData IFD=\"2\" PlaneCount=\"1\"/></Pixels></Image></OME>",
        "");
    stack_axes_release(&axes);
    static const char empty[] = "<o:OME><o:Image><o:Pixels SizeC=\"3\"/></o:Image></o:OME>";
    axes = read_axes(empty, 3);
    const FieldChange first = selected(&axes, (const uint32_t[]){0}, 1);
    expect_description(empty, &first,
                       "<o:OME><o:Image><o:Pixels SizeC=\"1\"><o:TiffData IFD=\"0\" "
                       "PlaneCount=\"1\"/></o:Pixels></o:Image></o:OME>",
                       "");
    stack_axes_release(&axes);
}

/* References to images that went made the schema's xsd:IDREF invalid. */
Test(field_rewrite, ome_references)
{
#define REF(id)   "<ImageRef ID=\"" id "\"/>"
#define PLATE(in) "<Plate><Well><WellSample ID=\"w\">" in "</WellSample></Well></Plate>"
    static const char text[] = "<OME><Dataset ID=\"d\">" REF("0") "\n" REF("1")
        REF("2") "</Dataset>" PLATE(REF("0")) IMAGE("0") IMAGE("1") IMAGE("2") "</OME>";
    StackAxes axes = read_axes(text, 6);
    static const uint32_t pages[] = {2, 3};
    const FieldChange change = selected(&axes, pages, 2);
    expect_description(text, &change,
                       "<OME><Dataset ID=\"d\">\n" REF("1") "</Dataset>" PLATE(
                           "") "<Image ID=\"1\"><Pixels SizeC=\"1\" SizeZ=\"2\" SizeT=\"1\" "
                               "DimensionOrder=\"XYCZT\"><TiffData IFD=\"0\" "
                               "PlaneCount=\"2\"/></Pixels></Image></OME>",
                       "");
    stack_axes_release(&axes);
}

Test(field_rewrite, shaped)
{
    static const char text[] = "{\"shape\": [2, 5, 64, 48], \"axes\": \"TZYX\", \"k\": \"v\"}";
    StackAxes axes = read_axes(text, 10);
    static const uint32_t first[] = {0, 1, 2, 3, 4}, some[] = {0, 6};
    FieldChange change = selected(&axes, first, 5);
    expect_description(text, &change,
                       "{ \"shape\": [ 1, 5, 64, 48 ], \"axes\": \"TZYX\", \"k\": \"v\" }", "");
    change = selected(&axes, some, 2);
    expect_description(text, &change, NULL,
                       "a.tif: its shape in JSON is left out: the output has another one");
    stack_axes_release(&axes);
    expect_description(text, &mapped, text, "");
    axes = (StackAxes){.n = 7};
    static const char plain[] = "{\"shape\": [7, 64, 48]}";
    change = selected(&axes, some, 2);
    expect_description(plain, &change, "{ \"shape\": [ 2, 64, 48 ] }", "");
    static const char truncated[] = "{\"shape\": [7, 64, 48], \"truncated\": true}";
    expect_description(truncated, &mapped, "{ \"shape\": [ 7, 64, 48 ] }", "");
    change = mapped;
    change.contiguous = true;
    expect_description(truncated, &change, truncated, "");
}

static ImgstatResult photoshop(const char *from, size_t n, FieldResult *got)
{
    return photoshop_rewrite((const uint8_t *)from, n, &mapped, fresh_warnings(), got, NULL);
}

Test(field_rewrite, photoshop)
{
    static const char text[] = "8BIM\x03\xED\0\0\0\0\0\2xy"
                               "8BIM\x04\x0C\3abc\0\0\0\3JPG\0"
                               "8BIM\x04\x0D\0\0\0\0\0\1z\0";
    static const char left[] = "8BIM\x03\xED\0\0\0\0\0\2xy"
                               "8BIM\x04\x0D\0\0\0\0\0\1z\0";
    FieldResult got;
    cr_assert(photoshop(text, sizeof text - 1, &got) == IMGSTAT_OK);
    cr_assert(got.fate == FIELD_CHANGES && got.text.n == sizeof left - 1);
    cr_expect(memcmp(got.text.data, left, sizeof left - 1) == 0);
    cr_expect_str_eq(heard.last,
                     "a.tif: its Photoshop thumbnail is left out: it shows the old contrast");
    field_result_release(&got);
    cr_assert(photoshop(left, sizeof left - 1, &got) == IMGSTAT_OK);
    cr_expect(got.fate == FIELD_STAYS && heard.n == 0);
    cr_assert(photoshop(text + 14, 16, &got) == IMGSTAT_OK);
    cr_expect(got.fate == FIELD_STAYS); /* cut off */
    cr_assert(photoshop(text + 14, 18, &got) == IMGSTAT_OK);
    cr_expect(got.fate == FIELD_GOES);
    field_result_release(&got);
}
