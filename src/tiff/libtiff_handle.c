/* SPDX-License-Identifier: MIT */
/* libtiff_handle.c: libtiff handles that read a Source and complain to its decoder only. */
#include "tiff/decoder.h"

#include "base/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From 4.5 on a handle has its own message handlers. */
#if TIFFLIB_VERSION >= 20221213 && !defined(IMGSTAT_TIFF_GLOBAL_HANDLERS)
#define OWN_HANDLERS 1
#else
#define OWN_HANDLERS 0
#endif

/* ---- Messages ---- */

/* libtiff only warns when it makes samples up, and goes on. */
static bool is_made_up(const char *text)
{
    static const char *const signs[] = {"Premature end of JPEG", "premature end of data segment",
                                        "bad Huffman code", "Premature EOF", "Premature EOL"};
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

/* Runs of PackBits that go on into the next row are cut off where rows are decoded one by one; that
 * row then begins with the wrong bytes. */
static bool is_cut_run(const TiffDecoder *td, const char *text)
{
    return td->layout.mode == TIFF_READ_SCANLINES &&
           td->layout.compression == COMPRESSION_PACKBITS && strstr(text, "Discarding");
}

/* JPEG data that are narrower than their strip or tile leave the right end of its rows unwritten.
 */
static bool is_narrow_jpeg(const char *text)
{
    static const char words[] = "Improper JPEG strip/tile size, expected %ux%u, got %ux%u";
    unsigned width = 0, height = 0, got_width = 0, got_height = 0;
    const char *const at = strstr(text, "Improper JPEG strip/tile size");
    return at && sscanf(at, words, &width, &height, &got_width, &got_height) == 4 &&
           got_width < width;
}

/* Private tags say nothing of the samples; loops of directories are found by tiff/directories.c;
 * texts of several parts are copied and read as a whole, but not by libtiff. */
static bool is_irrelevant(const char *text)
{
    return strstr(text, "Unknown field with tag") || strstr(text, "IFD loop") ||
           strstr(text, "contains null byte in value");
}

static ImgstatResult message_code(const char *text)
{
    if (strstr(text, "ead error") || strstr(text, "error during reading") ||
        strstr(text, "Error fetching directory") || strstr(text, "ot enough data") ||
        strstr(text, "remature end") || strstr(text, "remature EOF") || strstr(text, "short "))
        return IMGSTAT_ERR_TRUNCATED;
    if (strstr(text, "not configured") || strstr(text, "not supported") ||
        strstr(text, "different values per") || strstr(text, "Unsupported JPEG"))
        return IMGSTAT_ERR_UNSUPPORTED;
    if (strstr(text, "emory"))
        return IMGSTAT_ERR_MEMORY;
    return IMGSTAT_ERR_FORMAT;
}

static void note_error(TiffDecoder *td, const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr(": ", text[length - 1])) /* zlib may have nothing to add */
        length--;
    if (td->failure.code == IMGSTAT_OK)
        (void)!error_set(&td->failure, message_code(text), "%.*s", (int)length, text);
}

/* libtiff goes on without what it has no memory for, which may be pixels of another meaning. */
static bool is_out_of_memory(const char *text)
{
    static const char *const signs[] = {"Out of memory",  "ailed to allocate",
                                        "annot allocate", "Registering anonymous field",
                                        "malloc(",        "Insertion in tif_map"};
    for (size_t i = 0; i < ARRAY_LEN(signs); i++)
        if (strstr(text, signs[i]))
            return true;
    return false;
}

void tiff_no_memory(TiffDecoder *td)
{
    ImgstatError why;
    const Source *const source = td->base.source;
    td->no_memory = true;
    (void)!error_file(&why, IMGSTAT_ERR_MEMORY, source->name, "out of memory for a directory");
    source_fail(source, &why);
}

/* Not the file's own, which may be so long that nothing else has room in a message of libtiff. */
static const char client_name[] = "TIFF";

static void on_message(TiffDecoder *td, bool is_error, const char *format, va_list args)
{
    char text[512];
    vsnprintf(text, sizeof text, format, args);
    const size_t length = strlen(text);
    if (length > 0 && (text[length - 1] == '.' || text[length - 1] == '\n'))
        text[length - 1] = '\0';
    /* Some messages begin with what libtiff takes for the file's name; ours all do with the name.
     */
    const char *cause = text;
    const size_t name = strlen(client_name);
    if (strncmp(text, client_name, name) == 0 && strncmp(text + name, ": ", 2) == 0)
        cause += name + 2;
    if (is_out_of_memory(text))
        tiff_no_memory(td);
    td->torn = td->torn || strstr(text, "list of custom values");
    if (is_error || is_made_up(text) || is_cut_run(td, text) || is_narrow_jpeg(text))
        note_error(td, cause);
    else if (strstr(text, "Incorrect count for \"Strip") ||
             strstr(text, "Incorrect count for \"Tile"))
        td->offsets_truncated = true;
    else if (!is_irrelevant(text))
        warnings_report(&td->base.warnings, "%s", cause);
}

void tiff_clear_error(TiffDecoder *td)
{
    td->failure.code = IMGSTAT_OK;
    td->failure.message[0] = '\0';
}

#if OWN_HANDLERS

static int on_error(TIFF *tif, void *context, const char *module, const char *format, va_list args)
{
    (void)tif;
    (void)module;
    on_message(context, true, format, args);
    return 1;
}

static int on_warning(TIFF *tif, void *context, const char *module, const char *format,
                      va_list args)
{
    (void)tif;
    (void)module;
    on_message(context, false, format, args);
    return 1;
}

#else /* libtiff before 4.5: handlers of the process */

#include <pthread.h>

/* The handlers know a handle by its client data only, and other users of libtiff in the process
 * have handles too: the streams that are open here are listed, the rest goes where it went before.
 */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static TiffStream *open_streams;
static TIFFErrorHandlerExt error_before, warning_before;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;

static TiffDecoder *decoder_of(thandle_t client)
{
    TiffDecoder *found = NULL;
    pthread_mutex_lock(&open_lock);
    for (const TiffStream *s = open_streams; s && !found; s = s->next)
        if ((thandle_t)s == client)
            found = s->decoder;
    pthread_mutex_unlock(&open_lock);
    return found;
}

static TIFFErrorHandler plain_error_before, plain_warning_before;

static void on_error(thandle_t client, const char *module, const char *format, va_list args)
{
    TiffDecoder *const td = decoder_of(client);
    va_list copy;
    va_copy(copy, args);
    if (td)
        on_message(td, true, format, args);
    else {
        if (plain_error_before)
            plain_error_before(module, format, args);
        if (error_before)
            error_before(client, module, format, copy);
    }
    va_end(copy);
}

static void on_warning(thandle_t client, const char *module, const char *format, va_list args)
{
    TiffDecoder *const td = decoder_of(client);
    va_list copy;
    va_copy(copy, args);
    if (td)
        on_message(td, false, format, args);
    else {
        if (plain_warning_before)
            plain_warning_before(module, format, args);
        if (warning_before)
            warning_before(client, module, format, copy);
    }
    va_end(copy);
}

static void set_handlers(void)
{
    plain_error_before = TIFFSetErrorHandler(NULL);
    plain_warning_before = TIFFSetWarningHandler(NULL);
    error_before = TIFFSetErrorHandlerExt(on_error);
    warning_before = TIFFSetWarningHandlerExt(on_warning);
}

static void list_stream(TiffStream *stream)
{
    pthread_once(&handlers_once, set_handlers);
    pthread_mutex_lock(&open_lock);
    stream->next = open_streams;
    open_streams = stream;
    pthread_mutex_unlock(&open_lock);
}

static void unlist_stream(const TiffStream *stream)
{
    pthread_mutex_lock(&open_lock);
    for (TiffStream **s = &open_streams; *s; s = &(*s)->next) {
        if (*s == stream) {
            *s = stream->next;
            break;
        }
    }
    pthread_mutex_unlock(&open_lock);
}

#endif

/* ---- Input ---- */

static tmsize_t on_read(thandle_t client, void *to, tmsize_t bytes)
{
    TiffStream *const stream = client;
    size_t got = 0;
    if (bytes <= 0 || source_read(stream->decoder->base.source, stream->at, to, (size_t)bytes, &got,
                                  NULL) != IMGSTAT_OK)
        return 0;
    stream->at += got;
    return (tmsize_t)got;
}

static tmsize_t on_write(thandle_t client, void *from, tmsize_t bytes)
{
    (void)client;
    (void)from;
    (void)bytes;
    return 0;
}

static toff_t on_seek(thandle_t client, toff_t offset, int whence)
{
    TiffStream *const stream = client;
    if (whence == SEEK_SET)
        stream->at = offset;
    else if (whence == SEEK_CUR)
        stream->at += offset;
    else
        stream->at = stream->decoder->base.source->bytes + offset;
    return stream->at;
}

static int on_close(thandle_t client)
{
    (void)client;
    return 0;
}

static toff_t on_size(thandle_t client)
{
    const TiffStream *const stream = client;
    return stream->decoder->base.source->bytes;
}

/* ---- Handles ---- */

/* r: read; h: no directory yet; m: without mapping the file; c: strips as they are in the file. */
static const char open_mode[] = "rhmc";

static TIFF *open_client(TiffDecoder *td, TiffStream *stream)
{
#if OWN_HANDLERS
    /* Directories are small, whatever the limit for pixels. */
    const uint64_t least = (uint64_t)1 << 24;
    const uint64_t limit = td->base.how.limits.max_tile_bytes;
    TIFFOpenOptions *const options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)(limit < least ? least : limit));
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, td);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, td);
    TIFF *const tif = TIFFClientOpenExt(client_name, open_mode, stream, on_read, on_write, on_seek,
                                        on_close, on_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tif;
#else
    list_stream(stream);
    return TIFFClientOpen(client_name, open_mode, stream, on_read, on_write, on_seek, on_close,
                          on_size, NULL, NULL);
#endif
}

ImgstatResult tiff_handle_open(TiffDecoder *td, TiffHandle *handle, ImgstatError *err)
{
    *handle = (TiffHandle){.tif = NULL};
    handle->stream = calloc(1, sizeof *handle->stream);
    if (!handle->stream)
        return error_memory(err, sizeof *handle->stream, "a TIFF handle");
    handle->stream->decoder = td;
    tiff_clear_error(td);
    handle->tif = open_client(td, handle->stream);
    if (handle->tif)
        return IMGSTAT_OK;
    const ImgstatResult res =
        td->failure.code == IMGSTAT_OK
            ? error_memory(err, 0, "a TIFF handle")
            : error_file(err, td->failure.code, td->base.source->name, "%s", td->failure.message);
    tiff_handle_close(handle);
    return res;
}

void tiff_handle_close(TiffHandle *handle)
{
    tiff_strip_destroy(handle->strip);
    if (handle->tif && !handle->lost)
        TIFFClose(handle->tif);
#if !OWN_HANDLERS
    if (handle->stream)
        unlist_stream(handle->stream);
#endif
    free(handle->stream);
    *handle = (TiffHandle){.tif = NULL};
}

bool tiff_handle_read_directory(TiffDecoder *td, TiffHandle *handle)
{
    td->no_memory = td->torn = false;
    const bool read = TIFFSetSubDirectory(handle->tif, tiff_page_at(td)) != 0;
    handle->lost = td->torn;
    if (td->no_memory)
        (void)!error_set(&td->failure, IMGSTAT_ERR_MEMORY, "out of memory");
    return read && !td->no_memory;
}

/* libtiff with libdeflate leaves bytes unwritten where a strip holds more data than its rows need,
 * and reports nothing; with zlib it does not. */
void tiff_page_prepare(const TiffDecoder *td)
{
#ifdef TIFFTAG_DEFLATE_SUBCODEC
    const uint16_t compression = td->layout.compression;
    if (compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ADOBE_DEFLATE)
        TIFFSetField(td->handle.tif, TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
#endif
    if (tiff_jpeg_converts(&td->layout))
        TIFFSetField(td->handle.tif, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
}
