#include "daemon/config/fetch_settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/config/settings_files.h"
#include "pipeline/spec/yaml.h"

const struct leat_arg leat_fetch_args[] = {
    LEAT_ARG(leat_fetch_settings, path, PATH,
             "The folder where leat-fetch caches blocks. Default: $CACHE_DIRECTORY (systemd), else "
             "$XDG_CACHE_HOME/leat/fetch, else ~/.cache/leat/fetch."),
    LEAT_ARG(leat_fetch_settings, max_size, BYTES,
             "The maximum size of the cache in fetch.path. If the cache is full, leat-fetch "
             "removes the least recently read blocks.",
             .fallback = "16GiB", .min = 1 << 20, .max = 1e15),
    LEAT_ARG(leat_fetch_settings, requests, INT,
             "The maximum number of simultaneous requests. leat-fetch also reads this number of "
             "blocks ahead.",
             .fallback = "16", .min = 1, .max = 256),
    LEAT_ARG(leat_fetch_settings, block, BYTES,
             "The size of a block in bytes. leat-fetch requests each block separately.",
             .fallback = "4MiB", .min = 4096, .max = 64 << 20),
    LEAT_ARG(leat_fetch_settings, part, BYTES,
             "The size of an uploaded part in bytes. If a shard is larger than this size, `leatctl "
             "prepare -o s3://` uploads the shard in several parts.",
             .fallback = "16MiB", .min = 5 << 20, .max = 5e9),
    LEAT_ARG(leat_fetch_settings, timeout, SECONDS,
             "How long leat-fetch retries a request after HTTP 429 or 5xx, a lost connection or a "
             "stall.",
             .fallback = "60s", .min = 1, .max = 3600),
    LEAT_ARG(leat_fetch_settings, endpoint, TEXT,
             "The URL of the object store for s3://, such as https://storage.googleapis.com for "
             "GCS. Leave it out for AWS. Default: $AWS_ENDPOINT_URL_S3, else $AWS_ENDPOINT_URL, "
             "else endpoint_url of the profile."),
    LEAT_ARG(leat_fetch_settings, region, TEXT,
             "The region of the buckets. Default: $AWS_REGION, else $AWS_DEFAULT_REGION, else the "
             "region of the profile, else us-east-1."),
    LEAT_ARG(leat_fetch_settings, profile, TEXT,
             "The name of the profile in ~/.aws. Default: $AWS_PROFILE, else default."),
    LEAT_ARG(leat_fetch_settings, ca_file, PATH,
             "The path of a file with CA certificates (PEM) to verify servers. Default: "
             "$AWS_CA_BUNDLE, else $CURL_CA_BUNDLE, else the certificates of the system."),
    LEAT_ARGS_END,
};

static int resolve(const struct leat_config *config, const char **path, struct leat_error *err) {
    char *resolved = *path ? leat_config_path(config, *path) : NULL;

    if (*path && !resolved)
        return leat_error_oom(err);
    free((char *)(uintptr_t)*path);
    *path = resolved;
    return 0;
}

char *leat_fetch_default_path(void) {
    const char *given = getenv("CACHE_DIRECTORY"), *below = getenv("XDG_CACHE_HOME"), *suffix = "";
    char *path = NULL;

    if (!given || !given[0]) {
        suffix = below && below[0] ? "/leat/fetch" : "/.cache/leat/fetch";
        given = below && below[0] ? below : getenv("HOME");
    }
    return given && asprintf(&path, "%s%s", given, suffix) >= 0 ? path : NULL;
}

int leat_fetch_settings_load(const char *file, struct leat_fetch_settings *ret_settings,
                             struct leat_value *ret_document, struct leat_error *err) {
    static const struct leat_value nothing = {.kind = LEAT_VALUE_NULL};
    const struct leat_value *values = NULL;
    size_t n_bytes;
    char *text;
    int r = 0;

    *ret_settings = (struct leat_fetch_settings){.path = NULL};
    *ret_document = nothing;
    if (file) {
        r = leat_settings_read_text(file, LEAT_YAML_MAX_BYTES, &text, &n_bytes, err);
        if (r < 0)
            return r;
        r = leat_yaml_parse(text, n_bytes, file, ret_document, err);
        free(text);
        values = r == 0 ? leat_value_get(ret_document, "fetch") : NULL;
    }
    if (r == 0)
        r = leat_config_bind(&ret_settings->base, leat_fetch_args, values ? values : &nothing, file,
                             values ? values->line : 0, values ? values->column : 0, err);
    if (r == 0)
        r = resolve(&ret_settings->base, &ret_settings->path, err);
    if (r == 0)
        r = resolve(&ret_settings->base, &ret_settings->ca_file, err);
    return r;
}
