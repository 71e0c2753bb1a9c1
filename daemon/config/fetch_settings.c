#include "daemon/config/fetch_settings.h"

#include <stdlib.h>

#include "daemon/config/settings_files.h"
#include "pipeline/spec/yaml.h"

const struct leat_arg leat_fetch_args[] = {
    LEAT_ARG(leat_fetch_settings, path, PATH,
             "Folder of the block cache. If not given: $CACHE_DIRECTORY (systemd), "
             "$XDG_CACHE_HOME/leat/fetch or ~/.cache/leat/fetch."),
    LEAT_ARG(leat_fetch_settings, max_size, BYTES,
             "Bytes of the block cache. The least recently read blocks make room for new ones.",
             .fallback = "16GiB", .min = 1 << 20, .max = 1e15),
    LEAT_ARG(leat_fetch_settings, requests, INT,
             "Concurrent requests, and blocks that leat-fetch reads ahead.", .fallback = "16",
             .min = 1, .max = 256),
    LEAT_ARG(leat_fetch_settings, block, BYTES, "Bytes of a block. Each block is one request.",
             .fallback = "4MiB", .min = 4096, .max = 64 << 20),
    LEAT_ARG(leat_fetch_settings, part, BYTES,
             "Bytes of a part where `leatctl prepare -o s3://` stores a shard; a larger shard goes "
             "up in such parts.",
             .fallback = "16MiB", .min = 5 << 20, .max = 5e9),
    LEAT_ARG(leat_fetch_settings, timeout, SECONDS,
             "How long leat-fetch retries a request after 429, 5xx, a lost connection or a stall.",
             .fallback = "60s", .min = 1, .max = 3600),
    LEAT_ARG(leat_fetch_settings, endpoint, TEXT,
             "URL of the store behind s3://, unless it is AWS: MinIO, R2, or GCS "
             "(https://storage.googleapis.com). If not given: $AWS_ENDPOINT_URL_S3, "
             "$AWS_ENDPOINT_URL, or endpoint_url of the profile."),
    LEAT_ARG(leat_fetch_settings, region, TEXT,
             "Region of the buckets. If not given: $AWS_REGION, $AWS_DEFAULT_REGION, region of the "
             "profile, or us-east-1."),
    LEAT_ARG(leat_fetch_settings, profile, TEXT,
             "Profile of ~/.aws. If not given: $AWS_PROFILE or default."),
    LEAT_ARG(leat_fetch_settings, ca_file, PATH,
             "File of CA certificates (PEM) for servers. If not given: $AWS_CA_BUNDLE, "
             "$CURL_CA_BUNDLE or those of the system."),
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
