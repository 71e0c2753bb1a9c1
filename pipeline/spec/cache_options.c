#include "pipeline/spec/cache_options.h"

#include "pipeline/io/files.h"

static const char *const compressions[] = {"auto", "raw", "lz4", NULL};
static const char *const verifies[] = {"sample", "full", NULL};

const struct leat_arg leat_cache_args[] = {
    LEAT_ARG(leat_cache_options, path, PATH,
             "the folder of the caches; any number of streams and daemons may share this folder"),
    LEAT_ARG(leat_cache_options, prepared, PATH,
             "in place of `path`: the folder of a prepared set, which `leatctl prepare` made and "
             "sealed; the stream then reads the set, not the source; instead of a folder, you may "
             "give s3://bucket/folder/ or https://"),
    LEAT_ARG(leat_cache_options, max_size, BYTES,
             "the maximum size of all caches in the folder, such as 500MB or 1TiB; above "
             "this limit, leat removes the least recently used caches; 0: no limit",
             .fallback = "100GiB", .max = 1e18),
    LEAT_ARG(leat_cache_options, max_age, SECONDS,
             "the time after which leat removes an unused cache, such as 12h or 30d; 0: never",
             .fallback = "0", .max = 1e10),
    LEAT_ARG(
        leat_cache_options, compression, CHOICE,
        "how leat compresses blocks; with raw, leat does not compress them, which is fastest; with "
        "auto, leat uses LZ4 for each block that this makes at least a quarter smaller; auto needs "
        "about twice the CPU time of raw; with lz4, leat compresses all blocks that shrink",
        .fallback = "raw", .choices = compressions),
    LEAT_ARG(leat_cache_options, verify, CHOICE,
             "how leat checks that the data has not changed; with sample, leat compares size, "
             "time, inode and a sample of each file's bytes; with full, leat compares all bytes",
             .fallback = "sample", .choices = verifies),
    LEAT_ARGS_END,
};

int leat_cache_folder(const struct leat_spec *spec, char **ret_folder, struct leat_error *err) {
    const struct leat_value *cache = leat_value_get(&spec->options, "cache");
    const struct leat_value *path = cache ? leat_value_get(cache, "path") : NULL;

    *ret_folder = NULL;
    if (!path || path->kind != LEAT_VALUE_SCALAR)
        return 0;
    *ret_folder = leat_files_beside(spec->file, path->text);
    return *ret_folder ? 0 : leat_error_oom(err);
}
