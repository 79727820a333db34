/* SPDX-License-Identifier: MIT */
/* png.c: a canvas of pixels: smooth lines, letters made of lines, written through libpng. */
#include "plot/png.h"
#include "plot/font.h"
#include "text/text.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Pixels of a canvas unit: twice, so that letters are sharp on any screen. */
enum { SCALE = 2, WIDTH = SCALE * PLOT_WIDTH };

typedef struct Box {
    int x0, y0, x1, y1; /* x1, y1 are outside; empty where x0 >= x1 */
} Box;

typedef struct PngCanvas {
    PlotCanvas base;
    int height;           /* pixels */
    unsigned char *rgb;   /* WIDTH * height pixels */
    unsigned char *cover; /* share of each pixel that the path being drawn covers, of 255 */
    Box touched;          /* where cover may not be 0 */
} PngCanvas;

typedef struct Pen {
    double width, opacity;
    double dash, gap; /* 0: a full line */
    const char *colour;
} Pen;

/* As the style sheet of the SVG. */
static const Pen pens[] = {
    [PLOT_GRID] = {.width = 1, .opacity = 1, .colour = "#dddddd"},
    [PLOT_FRAME] = {.width = 1, .opacity = 1, .colour = "#333333"},
    [PLOT_CURVE] = {.width = 1.2, .opacity = 1},
    [PLOT_CDF] = {.width = 1, .opacity = 0.55, .dash = 5, .gap = 3},
    [PLOT_KEY] = {.width = 2, .opacity = 1},
};
static const Pen text_pen = {.width = 1.05, .opacity = 1, .colour = "#000000"};

static int limit(double value, int most)
{
    return value < 0 ? 0 : value > most ? most : (int)value;
}

static double distance(PlotPoint p, PlotPoint a, PlotPoint b)
{
    const double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
    double t = square > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / square : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/* A line with round ends; from and to in canvas units. Where lines of a path meet, the larger cover
 * holds, so that joints are no darker than the rest. */
static void cover_line(PngCanvas *canvas, PlotPoint from, PlotPoint to, double width)
{
    const double down = canvas->base.down;
    const PlotPoint a = {SCALE * from.x, SCALE * (from.y + down)},
                    b = {SCALE * to.x, SCALE * (to.y + down)};
    const double half = SCALE * width / 2, reach = half + 1;
    const Box box = {limit(fmin(a.x, b.x) - reach, WIDTH),
                     limit(fmin(a.y, b.y) - reach, canvas->height),
                     limit(fmax(a.x, b.x) + reach + 1, WIDTH),
                     limit(fmax(a.y, b.y) + reach + 1, canvas->height)};
    for (int y = box.y0; y < box.y1; y++) {
        for (int x = box.x0; x < box.x1; x++) {
            const PlotPoint middle = {x + 0.5, y + 0.5};
            const double part = half + 0.5 - distance(middle, a, b);
            const int cover = limit(255 * part, 255);
            unsigned char *const pixel = &canvas->cover[y * WIDTH + x];
            if (cover > *pixel)
                *pixel = (unsigned char)cover;
        }
    }
    Box *const all = &canvas->touched;
    all->x0 = box.x0 < all->x0 ? box.x0 : all->x0;
    all->y0 = box.y0 < all->y0 ? box.y0 : all->y0;
    all->x1 = box.x1 > all->x1 ? box.x1 : all->x1;
    all->y1 = box.y1 > all->y1 ? box.y1 : all->y1;
}

/* Lays the colour over what is covered, and uncovers it. */
static void paint(PngCanvas *canvas, const char *colour, double opacity)
{
    const unsigned long number = strtoul(colour + 1, NULL, 16);
    const double ink[] = {(double)(number >> 16 & 255), (double)(number >> 8 & 255),
                          (double)(number & 255)};
    for (int y = canvas->touched.y0; y < canvas->touched.y1; y++) {
        for (int x = canvas->touched.x0; x < canvas->touched.x1; x++) {
            unsigned char *const cover = &canvas->cover[y * WIDTH + x];
            unsigned char *const pixel = &canvas->rgb[3 * (y * WIDTH + x)];
            const double share = opacity * *cover / 255;
            for (int c = 0; c < 3; c++)
                pixel[c] = (unsigned char)lrint(pixel[c] + share * (ink[c] - pixel[c]));
            *cover = 0;
        }
    }
    canvas->touched = (Box){WIDTH, canvas->height, 0, 0};
}

/* Cuts a line into dashes; *at is how far into dash and gap the path is. */
static void cover_dashes(PngCanvas *canvas, const Pen *pen, PlotPoint from, PlotPoint to,
                         double *at)
{
    const double length = hypot(to.x - from.x, to.y - from.y), period = pen->dash + pen->gap;
    for (double done = 0; done < length;) {
        const bool ink = *at < pen->dash;
        const double left = (ink ? pen->dash : period) - *at;
        const double end = fmin(length, done + left);
        const double dx = (to.x - from.x) / length, dy = (to.y - from.y) / length;
        if (ink)
            cover_line(canvas, (PlotPoint){from.x + done * dx, from.y + done * dy},
                       (PlotPoint){from.x + end * dx, from.y + end * dy}, pen->width);
        const bool whole = done + left <= length;
        *at = !whole ? *at + (length - done) : ink ? pen->dash : 0;
        done = whole ? done + left : length;
    }
}

static void pixel_path(PlotCanvas *base, PlotStyle style, const char *colour,
                       const PlotPoint *points, size_t n)
{
    PngCanvas *const canvas = (PngCanvas *)base;
    const Pen *const pen = &pens[style];
    double at = 0;
    for (size_t i = 1; i < n; i++) {
        if (pen->dash > 0)
            cover_dashes(canvas, pen, points[i - 1], points[i], &at);
        else
            cover_line(canvas, points[i - 1], points[i], pen->width);
    }
    paint(canvas, colour != NULL ? colour : pen->colour, pen->opacity);
}

/* The strokes of the character at *s, which moves on to the next. */
static const char *next_strokes(const char **s)
{
    const unsigned char first = (unsigned char)*(*s)++;
    if (first < 0x80)
        return font_strokes(first);
    while (((unsigned char)**s & 0xC0) == 0x80)
        (*s)++;
    return font_unknown;
}

static void cover_strokes(PngCanvas *canvas, const char *strokes, PlotPoint origin, double unit,
                          bool turned)
{
    PlotPoint last = {0};
    bool down = false;
    for (const char *s = strokes; *s != '\0';) {
        if (*s == ' ') {
            down = false;
            s++;
            continue;
        }
        const double across = (s[0] - '0') * unit, above = (FONT_CAPITAL - (s[1] - '0')) * unit;
        const PlotPoint point = turned ? (PlotPoint){origin.x - above, origin.y - across}
                                       : (PlotPoint){origin.x + across, origin.y - above};
        if (down)
            cover_line(canvas, last, point, text_pen.width);
        last = point;
        down = true;
        s += 2;
    }
}

static void pixel_text(PlotCanvas *base, double x, double y, PlotAnchor anchor, int size,
                       bool turned, const char *text)
{
    PngCanvas *const canvas = (PngCanvas *)base;
    const double unit = 0.72 * size / FONT_CAPITAL; /* capitals of most faces are that high */
    int units = -2; /* the last character needs no distance to the next */
    for (const char *s = text; *s != '\0';)
        units += font_advance(next_strokes(&s));
    double before = anchor == PLOT_START ? 0 : -units * unit * (anchor == PLOT_END ? 1 : 0.5);
    for (const char *s = text; *s != '\0';) {
        const char *const strokes = next_strokes(&s);
        const PlotPoint origin = {turned ? x : x + before, turned ? y - before : y};
        cover_strokes(canvas, strokes, origin, unit, turned);
        before += font_advance(strokes) * unit;
    }
    paint(canvas, text_pen.colour, text_pen.opacity);
}

static void on_write(png_structp png, png_bytep bytes, png_size_t n)
{
    fwrite(bytes, 1, n, png_get_io_ptr(png)); /* a failure stays in its error indicator */
}

static void on_flush(png_structp png)
{
    (void)png;
}

static void write_png(FILE *out, unsigned char *rgb, int height)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL || setjmp(png_jmpbuf(png))) {
        /* Only memory can run out; an incomplete file must not pass for a plot. */
        text_no_memory();
    }
    png_set_write_fn(png, out, on_write, on_flush);
    png_set_IHDR(png, info, WIDTH, (png_uint_32)height, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE); /* flat areas compress best so */
    png_write_info(png, info);
    for (int y = 0; y < height; y++)
        png_write_row(png, rgb + (size_t)y * WIDTH * 3);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
}

void plot_png(FILE *out, const Plot *plot)
{
    const int height = SCALE * PLOT_HEIGHT * (int)plot->panels;
    const size_t pixels = (size_t)WIDTH * (size_t)height;
    PngCanvas canvas = {.base = {.path = pixel_path, .text = pixel_text},
                        .height = height,
                        .rgb = text_alloc(3 * pixels),
                        .cover = text_alloc(pixels),
                        .touched = {WIDTH, height, 0, 0}};
    memset(canvas.rgb, 255, 3 * pixels);
    memset(canvas.cover, 0, pixels);
    for (size_t i = 0; i < plot->panels; i++) {
        canvas.base.down = (double)PLOT_HEIGHT * (double)i;
        plot->draw(&canvas.base, i, plot->context);
    }
    write_png(out, canvas.rgb, height);
    free(canvas.rgb);
    free(canvas.cover);
}
