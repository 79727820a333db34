/* SPDX-License-Identifier: MIT */
/* svg.c: a canvas that writes what is drawn as elements of SVG. */
#include "plot/svg.h"
#include "text/text.h"

typedef struct SvgCanvas {
    PlotCanvas base;
    FILE *out;
} SvgCanvas;

/* Names of PlotStyle in the style sheet. */
static const char *const style_names[] = {"grid", "frame", "curve", "cdf", "key"};

static void svg_path(PlotCanvas *canvas, PlotStyle style, const char *colour,
                     const PlotPoint *points, size_t n)
{
    FILE *const out = ((SvgCanvas *)canvas)->out;
    fprintf(out, "<polyline class=\"%s\"", style_names[style]);
    if (colour != NULL)
        fprintf(out, " stroke=\"%s\"", colour);
    fputs(" points=\"", out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%.2f,%.2f", i > 0 ? " " : "", points[i].x, points[i].y + canvas->down);
    fputs("\"/>\n", out);
}

static void svg_text(PlotCanvas *canvas, double x, double y, PlotAnchor anchor, int size,
                     bool turned, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    FILE *const out = ((SvgCanvas *)canvas)->out;
    y += canvas->down;
    fputs("<text", out);
    if (turned)
        fprintf(out, " transform=\"translate(%.2f %.2f) rotate(-90)\"", x, y);
    else
        fprintf(out, " x=\"%.2f\" y=\"%.2f\"", x, y);
    if (anchor != PLOT_START)
        fprintf(out, " text-anchor=\"%s\"", anchors[anchor]);
    if (size != PLOT_TEXT)
        fprintf(out, " font-size=\"%d\"", size);
    fputc('>', out);
    text_put_markup(out, text);
    fputs("</text>\n", out);
}

void plot_svg(FILE *out, const Plot *plot)
{
    const int height = PLOT_HEIGHT * (int)plot->panels;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"%d\">\n"
            "<style>polyline{fill:none}.grid{stroke:#ddd}.frame{stroke:#333}"
            ".curve{stroke-width:1.2}.cdf{stroke-width:1;stroke-dasharray:5 3;opacity:.55}"
            ".key{stroke-width:2}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            PLOT_WIDTH, height, PLOT_WIDTH, height, PLOT_TEXT);
    SvgCanvas canvas = {.base = {.path = svg_path, .text = svg_text}, .out = out};
    for (size_t i = 0; i < plot->panels; i++) {
        canvas.base.down = (double)PLOT_HEIGHT * (double)i;
        plot->draw(&canvas.base, i, plot->context);
    }
    fputs("</svg>\n", out);
}
