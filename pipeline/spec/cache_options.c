#include "pipeline/spec/cache_options.h"

static const char *const compressions[] = {"auto", "raw", "lz4", NULL};
static const char *const verifies[] = {"sample", "full", NULL};

const struct leat_arg leat_cache_args[] = {
    LEAT_ARG(leat_cache_options, path, PATH,
             "folder of the caches, which any number of streams and daemons may share"),
    LEAT_ARG(leat_cache_options, prepared, PATH,
             "in place of `path`: folder of a prepared set, which `leatctl prepare` made and "
             "sealed; it replaces the source and may be s3://bucket/folder/ or https://"),
    LEAT_ARG(leat_cache_options, max_size, BYTES,
             "the most bytes of all caches in the folder, such as 500MB or 1TiB; leat removes the "
             "least recently used first; 0: no limit",
             .fallback = "100GiB", .max = 1e18),
    LEAT_ARG(leat_cache_options, max_age, SECONDS,
             "leat removes caches that were unused for this long, such as 12h or 30d; 0: never",
             .fallback = "0", .max = 1e10),
    LEAT_ARG(leat_cache_options, compression, CHOICE,
             "raw: ids unchanged, fastest from memory; auto: LZ4 for blocks that shrink by a "
             "quarter, at about twice the CPU time, if disk or page cache are scarce; lz4: for all "
             "blocks that shrink",
             .fallback = "raw", .choices = compressions),
    LEAT_ARG(leat_cache_options, verify, CHOICE,
             "how leat checks that the data is the same: by size, time, inode and a sample of each "
             "file's bytes, or by all bytes",
             .fallback = "sample", .choices = verifies),
    LEAT_ARGS_END,
};
