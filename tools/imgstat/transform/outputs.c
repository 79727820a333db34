/* SPDX-License-Identifier: MIT */
/* outputs.c: maps inputs to outputs, and refuses what would lose a file. */
#include "transform/outputs.h"
#include "options/value.h"
#include "text/path.h"
#include "text/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

void outputs_leave_out(Options *options)
{
    struct stat info;
    const char *const output = options->transform.output;
    if (output == NULL || stat(output, &info) != 0 || !S_ISDIR(info.st_mode))
        return;
    options->has_leave_out = true;
    options->leave_out_device = info.st_dev;
    options->leave_out_inode = info.st_ino;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static bool goes_to_folder(const Options *o, const InputList *inputs)
{
    const char *const output = o->transform.output;
    const size_t length = strlen(output);
    if (inputs->n > 1 || (inputs->n == 1 && inputs->items[0].tar_length > 0) ||
        o->files0_from != NULL || o->shards > 0 || is_directory(output) ||
        (length > 0 && output[length - 1] == '/'))
        return true;
    return o->n_names == 1 && is_directory(o->names[0]);
}

/* Length of name without the ending of another format than the one asked for. */
static size_t stem_length(const char *name, const char *format)
{
    const char *const named = imgstat_format_of_name(name);
    return named != NULL && strcmp(named, format) != 0 ? (size_t)(strrchr(name, '.') - name)
                                                       : strlen(name);
}

/* Whether a name has the ending of a format that is not written. */
static bool has_other_ending(const char *output)
{
    static const char *const others[] = {".jpg", ".jpeg", ".jp2",  ".jxl", ".webp", ".gif",
                                         ".bmp", ".avif", ".heic", ".pgm", ".ppm",  ".pnm",
                                         ".tga", ".exr",  ".psd",  ".pdf", ".svg"};
    const char *const dot = strrchr(output, '.');
    for (size_t i = 0; dot != NULL && i < sizeof others / sizeof others[0]; i++)
        if (strcasecmp(dot, others[i]) == 0)
            return true;
    return false;
}

static char *path_in_folder(const TransformOptions *t, const Input *input)
{
    char *const all = text_copy(input->path + input->below); /* "a.tar/b.png" becomes "a/b.png" */
    const size_t stem = input->tar_length > input->below ? input->tar_length - input->below : 0;
    if (stem > 0)
        memmove(all + stem - strlen(".tar"), all + stem, strlen(all + stem) + 1);
    const char *const name = all, *const folder = t->output;
    const size_t folder_length = strlen(folder);
    const char *const slash = folder_length > 0 && folder[folder_length - 1] == '/' ? "" : "/";
    const char *ending = "";
    size_t length = strlen(name);
    if (t->write.format != NULL && stem_length(name, t->write.format) < length) {
        length = stem_length(name, t->write.format);
        ending = t->write.format[0] == 'p' ? ".png" : ".tif";
    }
    const size_t bytes = folder_length + length + strlen(ending) + 2;
    char *const path = text_alloc(bytes);
    snprintf(path, bytes, "%s%s%.*s%s", folder, slash, (int)length, name, ending);
    free(all);
    return path;
}

/* ---- What must not happen -------------------------------------------------------------------- */

/* A file that is to be written: symbolic links are followed, as writing does. */
typedef struct Place {
    char *path;
    const char *from;  /* the input that it is made from */
    const char *pages; /* the pages of the input; NULL: all */
    const char *to;    /* its name as the output was named */
} Place;

static int by_path(const void *a, const void *b)
{
    return strcmp(((const Place *)a)->path, ((const Place *)b)->path);
}

static bool check_distinct(const Options *o, const Outputs *outputs)
{
    const TransformOptions *const t = &o->transform;
    Place *const places = text_alloc((outputs->n + 2) * sizeof *places);
    size_t n = 0;
    for (size_t i = 0; i < outputs->n && t->output != NULL; i++)
        places[n++] = (Place){.from = outputs->jobs[i].input,
                              .pages = outputs->jobs[i].pages,
                              .to = outputs->jobs[i].output};
    if (t->save_transfer != NULL)
        places[n++] = (Place){.from = "the transfer", .to = t->save_transfer};
    if (o->report != NULL)
        places[n++] = (Place){.from = "the report", .to = o->report};
    for (size_t i = 0; i < n; i++)
        places[i].path = path_resolve(places[i].to);
    qsort(places, n, sizeof *places, by_path);
    bool good = true;
    for (size_t i = 1; good && i < n; i++) {
        const Place *const a = &places[i - 1], *const b = &places[i];
        good = strcmp(a->path, b->path) != 0;
        if (!good && a->pages != NULL && b->pages != NULL && strcmp(a->from, b->from) == 0)
            usage_error(o->command,
                        "%s[%s] and %s[%s] would both become %s; '%s[%s,%s]' writes them to one "
                        "file, and two commands to two",
                        a->from, a->pages, b->from, b->pages, a->to, a->from, a->pages, b->pages);
        else if (!good)
            usage_error(o->command, "%s and %s would both become %s", a->from, b->from,
                        strcmp(a->to, b->to) == 0 ? a->to : a->path);
    }
    for (size_t i = 0; i < n; i++)
        free(places[i].path);
    free(places);
    return good;
}

/* An input as the file system knows it. */
typedef struct Identity {
    dev_t device;
    ino_t inode;
    const ImgstatJob *job; /* NULL: an archive, a mask, records, a list, or another file beside */
    const char *path;
} Identity;

static int by_identity(const void *a, const void *b)
{
    const Identity *const x = a, *const y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode == y->inode ? 0 : x->inode < y->inode ? -1 : 1;
}

static bool check_one(const Options *o, const ImgstatJob *job, const Identity *found)
{
    if (found->job != job) {
        usage_error(o->command, "%s would replace %s, which is an input as well", job->output,
                    found->path);
        return false;
    }
    if (o->state != NULL)
        return usage_error(o->command,
                           "%s is the input itself: --state may do a shard again, and takes other "
                           "names for outputs",
                           job->output);
    return o->transform.write.replace ||
           usage_error(o->command, "%s is the input itself; --force replaces it", job->output);
}

static const Identity *find(const Identity *inputs, size_t n, const char *path)
{
    struct stat info;
    if (strcmp(path, "-") == 0 || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return NULL;
    const Identity wanted = {.device = info.st_dev, .inode = info.st_ino};
    return bsearch(&wanted, inputs, n, sizeof *inputs, by_identity);
}

/* what: "the transfer" or "the report"; path: its file, or NULL. */
static bool check_beside(const Options *o, const char *what, const char *path,
                         const Identity *inputs, size_t n)
{
    const Identity *const found = path != NULL ? find(inputs, n, path) : NULL;
    return found == NULL ||
           usage_error(o->command, "%s would replace %s, which is an input", what, found->path);
}

/* How many more there are; none of a path that is NULL or leads nowhere. */
static size_t identify(const char *path, const ImgstatJob *job, Identity *out)
{
    struct stat info;
    if (path == NULL || !input_stat(path, &info))
        return 0;
    *out =
        (Identity){info.st_dev, info.st_ino, job, strcmp(path, "-") == 0 ? "standard input" : path};
    return 1;
}

static bool check_inputs_kept(const Options *o, const InputList *images, const Outputs *outputs)
{
    const char *const reference = o->transform.reference;
    Identity *const inputs = text_alloc((outputs->n + 6) * sizeof *inputs);
    char *path = NULL, *page = NULL; /* the parts of a reference "file[page]" */
    const char *archive = NULL;
    size_t n = 0, job = 0;
    for (size_t i = 0; i < images->n; i++) {
        const Input *const image = &images->items[i];
        const char *const file = input_file(image);
        if (image->problem != NULL)
            continue;
        const ImgstatJob *const own = &outputs->jobs[job++];
        if (file != archive) /* one of many members stands for all */
            n += identify(file, image->member == NULL ? own : NULL, &inputs[n]);
        archive = file;
    }
    const bool paged = reference != NULL && input_names_pages(reference, &path, &page);
    n += identify(paged ? path : reference, NULL, &inputs[n]);
    n += identify(o->transform.transfer, NULL, &inputs[n]);
    n += identify(o->mask, NULL, &inputs[n]);
    n += identify(o->transform.record, NULL, &inputs[n]);
    n += identify(o->transform.only, NULL, &inputs[n]);
    n += identify(o->files0_from, NULL, &inputs[n]);
    qsort(inputs, n, sizeof *inputs, by_identity);
    bool good = check_beside(o, "the transfer", o->transform.save_transfer, inputs, n) &&
                check_beside(o, "the report", o->report, inputs, n);
    for (size_t i = 0; good && o->transform.output != NULL && i < outputs->n; i++) {
        const Identity *const found = find(inputs, n, outputs->jobs[i].output);
        good = found == NULL || check_one(o, &outputs->jobs[i], found);
    }
    free(path);
    free(page);
    free(inputs);
    return good;
}

/* The ending of another format would be wrong for an output. */
static bool check_ending(const Options *o)
{
    const char *const output = o->transform.output;
    return !has_other_ending(output) ||
           usage_error(o->command, "%s: outputs are PNG or TIFF; --format names one all the same",
                       output);
}

/* Where a folder is needed, the name of a file is a mistake. */
static bool check_folder(const Options *o)
{
    const char *const output = o->transform.output;
    struct stat info;
    if (is_directory(output) || output[strlen(output) - 1] == '/')
        return true;
    if (stat(output, &info) == 0)
        return usage_error(o->command, "%s is no folder, which these inputs need", output);
    return (imgstat_format_of_name(output) == NULL && !has_other_ending(output)) ||
           usage_error(o->command,
                       "%s is the name of a file, and these inputs need a folder; %s/ is one",
                       output, output);
}

/* ---- The plan -------------------------------------------------------------------------------- */

static bool check_standard(const Options *o, const InputList *inputs, bool folder)
{
    if (strcmp(o->transform.output, "-") == 0) {
        if (inputs->n > 1) {
            usage_error(o->command, "standard output takes one image, not %zu", inputs->n);
            return false;
        }
        if (!o->transform.dry_run && isatty(STDOUT_FILENO) == 1) {
            usage_error(o->command, "standard output is a terminal; images are not for reading");
            return false;
        }
        return true;
    }
    for (size_t i = 0; folder && i < inputs->n; i++)
        if (strcmp(inputs->items[i].path, "-") == 0) {
            usage_error(o->command, "standard input has no name: -o must name a file for it");
            return false;
        }
    return true;
}

bool outputs_plan(const Options *options, const InputList *inputs, Outputs *out)
{
    *out = (Outputs){.n = 0};
    const TransformOptions *const t = &options->transform;
    const bool none = t->output == NULL; /* the inputs are only measured */
    const bool standard = !none && strcmp(t->output, "-") == 0;
    const bool folder = !none && !standard && goes_to_folder(options, inputs);
    if (!none && (!check_standard(options, inputs, folder) || (folder && !check_folder(options)) ||
                  (!folder && t->write.format == NULL && !check_ending(options))))
        return false;
    out->jobs = text_alloc((inputs->n + 1) * sizeof *out->jobs);
    out->paths = text_alloc((inputs->n + 1) * sizeof *out->paths);
    for (size_t i = 0; i < inputs->n; i++) {
        const Input *const input = &inputs->items[i];
        if (input->problem != NULL)
            continue;
        char *path = NULL;
        if (folder) {
            path = path_in_folder(t, input);
        } else if (!none) {
            path = text_copy(t->output);
        }
        out->paths[out->n] = path;
        out->jobs[out->n] = input_job(input);
        out->jobs[out->n++].output = path;
    }
    return check_distinct(options, out) && check_inputs_kept(options, inputs, out);
}

/* mkdir -p of the folder that `path` lies in; path is changed and restored. */
static bool make_folder_of(const Options *o, char *path, Outputs *outputs)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int cause = mkdir(path, 0777) == 0 ? 0 : errno;
        if (cause == 0) {
            outputs->made = text_room(outputs->made, outputs->n_made, &outputs->made_capacity,
                                      sizeof *outputs->made);
            outputs->made[outputs->n_made++] = text_copy(path);
        }
        const bool failed = cause != 0 && cause != EEXIST && !is_directory(path);
        if (failed) {
            char *const name = text_display(path);
            fprintf(stderr, "%s: %s: cannot create the folder: %s\n", o->command, name,
                    strerror(cause));
            free(name);
        }
        *slash = '/';
        if (failed)
            return false;
    }
    return true;
}

/* Length of the folder part of a path. */
static size_t folder_length(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) : 0;
}

bool outputs_make_folders(const Options *options, Outputs *outputs)
{
    for (size_t i = 0; i < outputs->n && options->transform.output != NULL; i++) {
        const char *const before = i > 0 ? outputs->paths[i - 1] : "";
        const size_t length = folder_length(outputs->paths[i]);
        if (length == 0 || (i > 0 && length == folder_length(before) &&
                            memcmp(before, outputs->paths[i], length) == 0))
            continue;
        /* Without this folder its own files fail, each with a message; the others do not. */
        if (!make_folder_of(options, outputs->paths[i], outputs) &&
            !is_directory(options->transform.output))
            return false;
    }
    return true;
}

void outputs_remove_folders(const Outputs *outputs)
{
    for (size_t i = outputs->n_made; i-- > 0;)
        (void)rmdir(outputs->made[i]); /* a report or a transfer may lie in it */
}

void outputs_release(Outputs *outputs)
{
    for (size_t i = 0; i < outputs->n_made; i++)
        free(outputs->made[i]);
    free(outputs->made);
    for (size_t i = 0; i < outputs->n; i++)
        free(outputs->paths[i]);
    for (size_t i = 0; outputs->groups != NULL && i < outputs->n; i++)
        free(outputs->groups[i]);
    free(outputs->groups);
    free(outputs->paths);
    free(outputs->jobs);
    *outputs = (Outputs){.n = 0};
}
