/* SPDX-License-Identifier: MIT */
/* sidecars.c: world files, and GDAL's statistics, levels and masks. */
#define _GNU_SOURCE
#include "transform/sidecars.h"
#include "inputs/inputs.h"
#include "text/memory_stream.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the name of a sidecar file is made of its image's. */
typedef struct Sidecar {
    const char *ending;
    bool replaces; /* takes the place of the image's ending; else follows it */
    bool ages;     /* describes samples, and is wrong once these change */
} Sidecar;

static const Sidecar sidecars[] = {
    {".aux.xml", false, true}, {".ovr", false, true}, {".msk", false, false}, {".tfw", true, false},
    {".tifw", true, false},    {".pgw", true, false}, {".wld", true, false}};

/* The path of a sidecar file; freed by the caller. */
static char *path_of(const Sidecar *sidecar, const char *image)
{
    const char *const slash = strrchr(image, '/');
    const char *const dot = strrchr(slash != NULL ? slash : image, '.');
    const size_t stem = sidecar->replaces && dot != NULL ? (size_t)(dot - image) : strlen(image);
    const size_t bytes = stem + strlen(sidecar->ending) + 1;
    char *const path = text_alloc(bytes);
    snprintf(path, bytes, "%.*s%s", (int)stem, image, sidecar->ending);
    return path;
}

char *sidecars_warning(const ImgstatJob *job)
{
    const bool in_place = strcmp(job->input, job->output) == 0;
    if (strcmp(job->input, "-") == 0 || strcmp(job->output, "-") == 0)
        return NULL;
    char *text = NULL;
    size_t bytes = 0, n = 0;
    FILE *const out = memory_stream_open(&text, &bytes);
    char *const name = text_display(job->output);
    fprintf(out, "%s: %s", name,
            in_place ? "files beside it tell of its old samples: "
                     : "files beside its input are not copied: ");
    free(name);
    for (size_t i = 0; i < sizeof sidecars / sizeof sidecars[0]; i++) {
        char *const path = path_of(&sidecars[i], job->input);
        if ((!in_place || sidecars[i].ages) && input_is_file(path)) {
            const char *const slash = strrchr(path, '/');
            char *const shown = text_display(slash != NULL ? slash + 1 : path);
            fprintf(out, "%s%s", n++ > 0 ? ", " : "", shown);
            free(shown);
        }
        free(path);
    }
    memory_stream_close(out);
    if (n > 0)
        return text;
    free(text);
    return NULL;
}
