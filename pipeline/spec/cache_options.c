/* cache_options.c: see cache_options.h. */
#include "pipeline/spec/cache_options.h"

static const char *const compressions[] = {"auto", "raw", "lz4", NULL};
static const char *const verifies[] = {"sample", "full", NULL};

const struct leat_arg leat_cache_args[] = {
    {.name = "path",
     .type = LEAT_ARG_PATH,
     .offset = offsetof(struct leat_cache_options, path),
     .is_required = true,
     .help = "the folder of the caches: any number of streams and daemons may share one"},
    {.name = "max_size",
     .type = LEAT_ARG_BYTES,
     .offset = offsetof(struct leat_cache_options, max_size),
     .fallback = "100GiB",
     .min = 0,
     .max = 1e18,
     .help = "all caches of the folder together, as 500MB or 1TiB; the least recently used go "
             "first. 0: any size"},
    {.name = "max_age",
     .type = LEAT_ARG_SECONDS,
     .offset = offsetof(struct leat_cache_options, max_age),
     .fallback = "0",
     .min = 0,
     .max = 1e10,
     .help = "caches that were not used for so long go, as 12h or 30d. 0: none"},
    {.name = "compression",
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct leat_cache_options, compression),
     .fallback = "raw",
     .choices = compressions,
     .help = "raw: ids as they are, which is fastest from memory; auto: LZ4 for blocks where it "
             "saves a quarter, which takes about twice the time of a core, and pays where disk or "
             "page cache are short; lz4: wherever it saves anything"},
    {.name = "verify",
     .type = LEAT_ARG_CHOICE,
     .offset = offsetof(struct leat_cache_options, verify),
     .fallback = "sample",
     .choices = verifies,
     .help = "how it is found out that the data is the same: by size, time, inode, and some of the "
             "bytes of each file, or by all of them"},
    LEAT_ARGS_END,
};
