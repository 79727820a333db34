/* SPDX-License-Identifier: MIT */
/* common/tuning.cuh: block sizes, table sizes, depths and thresholds that measurements chose. All
 * were measured on an H200; docs/lab/2026-11-24-kernels.md has the rows, and each comment names the
 * section. Sizes that follow from an algorithm stay beside it, with their derivation. */
#ifndef IMGSTAT_KERNELS_COMMON_TUNING_CUH
#define IMGSTAT_KERNELS_COMMON_TUNING_CUH

#include <stddef.h>

/* ---- By architecture family: thresholds that the host looks up at run time ------------------- */

typedef struct Tuning {
    int shared_kib;        /* shared memory that a block can have */
    size_t item_bytes;     /* of a work item: a few microseconds of a block's share of the memory */
    size_t together_bytes; /* histogram16: blocks of several channels begin together from here on.
                            * Below, reading twice costs less than the wait ("measure_narrow16") */
    size_t word_table_bytes;      /* maps: from here on an image in one row has its table of 16-bit
                                   * samples in shared memory ("Words": mapping alone) */
    size_t word_table_rows_bytes; /* the same for an image in rows: large blocks leave gaps */
} Tuning;

/* 8.0 has 163 KiB of shared memory a block, 8.9 and 12.0 have 99, 9.0 and 10.0 have 227. Only the
 * last row has been measured; the others repeat its values. */
/*                             KiB  item       together   table      table, rows */
static const Tuning TUNING_80 = {163, 128 << 10, 256 << 20, 512 << 10, 32 << 20};
static const Tuning TUNING_89 = {99, 128 << 10, 256 << 20, 512 << 10, 32 << 20};
static const Tuning TUNING_90 = {227, 128 << 10, 256 << 20, 512 << 10, 32 << 20};

/* The family of a device whose blocks can have so many bytes of shared memory. */
static inline const Tuning *tuning_of(int max_shared)
{
    if (max_shared >= TUNING_90.shared_kib << 10)
        return &TUNING_90;
    return max_shared >= TUNING_80.shared_kib << 10 ? &TUNING_80 : &TUNING_89;
}

/* ---- Common to all families: constants that kernels and the host share ---------------------- */

/* histogram8. Two blocks an SM hide each other's barriers, and threads have 64 registers: all loads
 * of a warp tile are on their way at once ("measure_narrow8"). */
enum { HISTOGRAM8_THREADS = 512, HISTOGRAM8_BLOCKS = 2 };
/* A lane's vectors of 16 bytes in a warp tile; three channels need a multiple of three. */
enum { HISTOGRAM8_STEPS = 8, HISTOGRAM8_STEPS3 = 9 };
/* 16ths of a lone image whose tiles go to warps in a fixed order; the rest comes from queues, so
 * that all warps end together ("One launch, whatever the images"). */
enum { HISTOGRAM8_FIXED_16THS = 12 };

/* histogram16. One block an SM: its table takes all the shared memory there is. */
enum { HISTOGRAM16_THREADS = 1024 };
/* A lane's vectors in a warp tile: as many as registers hold beside the counting. */
enum { HISTOGRAM16_STEPS = 3 };
/* Samples from which a block chooses its layout, in so many buckets of leading bits. */
enum { HISTOGRAM16_SAMPLES = 512, HISTOGRAM16_BUCKETS = 256 };
/* One tile in so many of a lone image is handed out one by one at the end. */
enum { HISTOGRAM16_TAIL_SHARE = 32 };
/* Blocks that move packed sums to the bins: one block takes 25 us. */
enum { HISTOGRAM16_SLICES = 16 };
/* Times that a block looks, 0.2 us apart, whether all blocks have packed; then it ends. */
enum { HISTOGRAM16_POLLS = 40 };
/* Samples of a block up to which adding to the bins is quicker than packing. */
enum { HISTOGRAM16_PACK_SAMPLES = 8192 };

/* Four channels, each in as many shares of its values as a table of 99 KiB makes necessary. */
enum { MEASURE_PARTS = 4 * 3 };
/* Queues of the last warp tiles, and the words between two: one counter answers too slowly. */
enum { TAIL_QUEUES = 32, TAIL_STRIDE = 32 };
/* Locks of records, chosen by address. */
enum { RECORD_LOCKS = 1024 };

/* moments. Threads of all blocks of an SM, in kernels that stream and in those that go sample by
 * sample: with 576, three channels spill some registers ("measure_wide"). */
enum { MOMENTS_STREAM_THREADS = 576, MOMENTS_CAREFUL_THREADS = 512 };
/* Vectors that a thread waits for at once, and such batches on their way ("measure_wide"). */
enum { MOMENTS_LOADS = 2, MOMENTS_RING = 4 };
/* Items that a block has by its number before it needs the launch before to have ended, if a launch
 * has MOMENTS_FEW_ITEMS a block: three take about as long as that. */
enum { MOMENTS_OWN_ITEMS = 3, MOMENTS_FEW_ITEMS = 8 };
enum { CENTRAL_THREADS = 256, CENTRAL_BLOCKS = 4 };

/* ranks. One block an SM, whose counters take all its shared memory ("Further reads"). */
enum { RANKS_THREADS = 1024 };
/* Neighbouring bins whose counters lie in shared memory, or do not, together. */
enum { RANKS_SEGMENT = 128 };
/* Lanes without a counter from which equal bins of a warp are added once. */
enum { RANKS_FEW_LANES = 12 };
/* Samples below which the host ranks sooner than the device begins, and the share of the device's
 * memory that a sort may leave allocated for the next image. */
enum { SORT_LEAST = 1 << 15, SORT_KEPT_SHARE = 64, SORT_THREADS = 256 };

/* scan. 32 KiB a tile: 8 warps of 8 rows of 32 vectors. Four blocks an SM hide the look-back. */
enum { SCAN_THREADS = 256, SCAN_ROWS = 8, SCAN_BLOCKS = 4 };
/* Groups of 32 tiles that a look-back reads at a time: of scan_lookback, and of scan_ring, where
 * 160 tiles are mostly one of each block. */
enum { SCAN_DEPTH = 4, SCAN_RING_DEPTH = 5 };
/* Bytes from which scan_ring is faster: it begins with some microseconds of its own ("scan"). It
 * needs 192 KiB of shared memory a block, which only 9.0 and 10.0 have. */
enum { SCAN_RING_BYTES = 16 << 20 };
/* Rows and storing warps of a tile, and tiles in shared memory: the ring hides the look-back
 * ("scan": four tiles, or three in each of two blocks, are slower). */
enum { SCAN_RING_ROWS = 8, SCAN_RING_STORERS = 8, SCAN_RING_STAGES = 6 };

/* maps. A block where threads have a sample or a pixel each, and blocks of an SM at most. */
enum { MAP_THREADS = 256, MAP_BLOCKS = 16 };
/* Tables of bytes, of words in shared memory, and general ones; a thread's vectors at a time. */
enum { TABLE_THREADS = 256, WORD_THREADS = 1024, TABLE_VECTORS = 4, GENERAL_THREADS = 256 };
/* Tables of bytes in shared memory: what a block has without asking for more. */
enum { BYTE_TABLE_BYTES = 48 << 10 };
/* Samples that a thread looks up at once; the tree of keys takes 128 KiB ("Maps of wide"). */
enum { KNOT_THREADS = 1024, KNOT_SAMPLES = 4 };

/* luma. Vectors of a lane in a warp tile: four times three words ("Colours to a new luma"). */
enum { LUMA_VECTORS = 3 };
enum { LUMA_COUNT_THREADS = 1024, LUMA_APPLY_THREADS = 512, LUMA_APPLY_BLOCKS = 2 };
enum { LUMA_WORD_THREADS = 512, LUMA_WORD_BLOCKS = 2 };

/* equalize, 8 bits. Blocks of FEW_THREADS leave room for those of the next launch on the same SM
 * ("Small images": 6 and 9 MiB). */
enum { FEW_THREADS = 512, MANY_THREADS = 1024 };
/* Vectors a thread keeps in registers, by the size of the image; of the largest not all. */
enum { KEPT_FEW = 4, KEPT_MORE = 9, KEPT_MANY = 8, KEPT_LARGE = 12, KEPT_TWICE = 10 };
/* Vectors a thread keeps in shared memory at most ("From memory"). */
enum { SHARED_VECTORS = 12 };
/* What a thread reads twice has so many of its registers in a round. */
enum { ROUND_VECTORS = 4 };
/* Blocks of a launch at most, and lines of the cache over which they spread their counts. */
enum { SMALL_BLOCKS = 256, SMALL_LINES = 32 };
/* Looks of some 0.4 us before a block counts for one that has not begun: blocks of a launch begin
 * within a few of them, or much later. */
enum { SMALL_PATIENCE = 200 };

/* equalize, 16 bits. Vectors that a thread counts in a table, vectors that a block has at least,
 * and tables of a block of the machine at most: below, the cache holds most of them ("Words"). */
enum { WORDS_COUNT_THREADS = 1024, WORDS_EACH = 8, WORDS_LEAST = 2048, WORDS_WAVES = 2 };

/* clahe. Warps that count a tile, and rows of it that a block counts at once: 4,096 pixels square
 * make 512 blocks ("Adaptive equalization"). */
enum { CLAHE_PIXEL_THREADS = 256, CLAHE_TILE_WARPS = 8, CLAHE_STRIP_ROWS = 64 };

/* device. Host images travel through buffers of STAGE_BYTES, 150 us at 55 GB/s and far above what a
 * launch costs. With four the copy engine never waits for the host to fill the next ("Staging"). */
enum { STAGE_SLOTS = 4, STAGE_BYTES = 8 << 20 };
/* Bytes of memory that is not pinned from which an upload goes through these buffers: the driver
 * copies on one thread. */
enum { UPLOAD_STAGED = 2 << 20 };
/* Bytes that a thread of the host copies into a buffer at a time. */
enum { STAGE_TASK_BYTES = 512 << 10 };
/* Pinned buffers that are kept for the next band, and the largest of them. */
enum { LENT_SLOTS = 4, LENT_BYTES = 16 << 20 };
/* Descriptions of images that are on their way to the device at once. */
enum { DESC_SLOTS = 4 };
/* Images of the first launch of a call for each SM, how many times as many the next one has, and
 * the most: the device begins early, then launches grow. */
enum { FIRST_IMAGES = 4, MORE_IMAGES = 4, LAUNCH_IMAGES = 8192 };
/* Bands of a mapped host image: one arrives, one is mapped, one leaves. 2 MiB take 40 us, ten
 * times what a launch costs, and two fit the bands that transforms pass. */
enum { APPLY_SLOTS = 3, APPLY_BYTES = 2 << 20 };

/* codec. Blocks of an image where it is summed, or its samples are unpacked, and their threads. */
enum { ADLER_THREADS = 256, ADLER_BLOCKS = 16, EXPAND_THREADS = 256, EXPAND_BLOCKS = 32 };
/* Strips and tiles: rows of one that a block takes, a warp each at a time. */
enum { CODED_THREADS = 256, CODED_ROWS = 32 };
/* Deflating: several blocks an SM hide the threads that work alone. */
enum { DEFLATE_THREADS = 256, DEFLATE_BLOCKS = 4 };
enum { SEARCH_BLOCKS = 2 }; /* of those that are searched for matches: shared memory has no more */
enum { FILTER_THREADS = 256 };
/* Blocks of a copy to host memory: enough that one large piece fills the bus. */
enum { COPY_THREADS = 256, COPY_BLOCKS = 8 };

#endif
