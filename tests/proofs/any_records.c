/* SPDX-License-Identifier: MIT */
/* any_records: records of any bytes: a text, an exact sum, and pieces of the bins of a channel,
 * from any state between two of them. What is read lies within its bounds, and nothing is read
 * beyond the end. */
#include "any.h"

#include "record/bin_code.c"
#include "record/record_code.c"

/* CBMC: -DPROOF=sum -DBYTES=1 --unwind 70 src/record/byte_stream.c */
/* CBMC: -DPROOF=text -DBYTES=5 --unwind 7 src/record/byte_stream.c */
/* CBMC: -DPROOF=bits -DBYTES=9 --unwind 10 src/record/byte_stream.c */
/* CBMC: -DPROOF=run -DBYTES=2 --unwind 10 --unwindset get_run.0:7 src/record/byte_stream.c */
/* CBMC: -DPROOF=gaps -DBYTES=1 -DGAPS=4 --unwind 6 src/record/byte_stream.c */

static void text(ByteReader *reader)
{
    bool memory = false;
    char *const read = get_text(reader, &memory);
    demand(!read == reader->failed || memory, "a failure");
    demand(!read || strlen(read) < BYTES, "a text");
    free(read);
}

/* Words of any value at some places, the last two of them wrong. */
static void sum(ByteReader *reader)
{
    (void)reader;
    static const uint8_t first[] = {0, 0, 0, 66, 67, 67, 68}, n[] = {0, 1, 3, 2, 1, 2, 0};
    for (size_t k = 0; k < sizeof n; k++) {
        uint8_t bytes[2 + 3 * 4];
        bytes[0] = first[k];
        bytes[1] = n[k];
        ByteReader own = {.at = bytes, .end = bytes + 2 + 4 * n[k]};
        ExactSum sum = {{0}};
        get_exact(&own, &sum);
        demand(own.failed || own.at == own.end, "bytes that are left");
        demand(own.failed || first[k] + n[k] <= EXACT_LIMBS, "a wrong place");
        for (size_t i = 0; i < EXACT_LIMBS - 1; i++)
            demand(sum.limb[i] >= 0 && sum.limb[i] <= UINT32_MAX, "a limb");
    }
}

/* From any state between two numbers. */
static void bits(ByteReader *reader)
{
    const size_t taken = any((unsigned)(reader->end - reader->at) + 1);
    BitReader from = {.reader = reader, .n = any(64)};
    __CPROVER_havoc_slice(&from.bits, sizeof from.bits);
    __CPROVER_assume(from.n <= 8 * taken);
    reader->at += taken;
    const unsigned n = any(57), before = from.n;
    const size_t bytes = (size_t)(reader->end - reader->at);
    const uint64_t value = get_few_bits(&from, n);
    demand(value >> n == 0 && from.n < 64, "too many bits");
    demand(reader->failed ||
               from.n + n - before == 8 * (bytes - (size_t)(reader->end - reader->at)),
           "bits that are no byte's");
    demand(!reader->failed || n > before + 8 * bytes, "a failure");
    if (!reader->failed && from.n < 56)
        close_stream(&from);
}

static void run(ByteReader *reader)
{
    BitReader from = {.reader = reader};
    const uint64_t blocks = 1 + any(100);
    demand(get_run(&from, blocks) <= blocks || reader->failed, "a run");
}

#ifdef GAPS
static void gaps(ByteReader *reader)
{
    uint64_t gap[GAPS];
    uint16_t bin[GAPS];
    const size_t present = any(GAPS + 1), n = present + any(65537 - GAPS);
    (void)reader;
    if (bins_of_gaps(gap, present, n, bin))
        for (size_t i = 0; i < present; i++)
            demand(bin[i] < n && (i == 0 || bin[i] > bin[i - 1]), "a bin");
}
#endif

void prove(void)
{
    static uint8_t in[BYTES];
    const size_t n = any(BYTES + 1);
    const uint8_t *const at = any_bytes(in, BYTES, n);
    ByteReader reader = {.at = at, .end = at + n};
    PROOF(&reader);
    demand(reader.at <= reader.end, "beyond the end");
}
