/* cache_options.c: see cache_options.h. */
#include "pipeline/spec/cache_options.h"

static const char *const compressions[] = {"auto", "raw", "lz4", NULL};
static const char *const verifies[] = {"sample", "full", NULL};

const struct leat_arg leat_cache_args[] = {
    LEAT_ARG(leat_cache_options, path, PATH,
             "the folder of the caches: any number of streams and daemons may share one"),
    LEAT_ARG(
        leat_cache_options, prepared, PATH,
        "in place of `path`: the folder of a set that `leatctl prepare` made and sealed, which "
        "is read in place of the source; it may be s3://bucket/folder/ or https://"),
    LEAT_ARG(leat_cache_options, max_size, BYTES,
             "all caches of the folder together, as 500MB or 1TiB; the least recently used go "
             "first. 0: any size",
             .fallback = "100GiB", .max = 1e18),
    LEAT_ARG(leat_cache_options, max_age, SECONDS,
             "caches that were not used for so long go, as 12h or 30d. 0: none", .fallback = "0",
             .max = 1e10),
    LEAT_ARG(leat_cache_options, compression, CHOICE,
             "raw: ids as they are, which is fastest from memory; auto: LZ4 for blocks where it "
             "saves a quarter, which takes about twice the time of a core, and pays where disk or "
             "page cache are short; lz4: wherever it saves anything",
             .fallback = "raw", .choices = compressions),
    LEAT_ARG(leat_cache_options, verify, CHOICE,
             "how it is found out that the data is the same: by size, time, inode, and some of the "
             "bytes of each file, or by all of them",
             .fallback = "sample", .choices = verifies),
    LEAT_ARGS_END,
};
