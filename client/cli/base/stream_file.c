#include "client/cli/base/stream_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/output.h"
#include "pipeline/io/opener.h"
#include "pipeline/spec/bind.h"
#include "pipeline/spec/override.h"
#include "pipeline/spec/yaml.h"
#include "proto/fetch.h"

#define MAX_LISTED 16 /* streams in an error */

int leat_cli_document_load(const char *file, struct leat_value *ret_document,
                           struct leat_error *err) {
    size_t n_bytes = 0;
    char *text = NULL;
    int r = leat_opener_read(&leat_opener_any, file, LEAT_YAML_MAX_BYTES, &text, &n_bytes, err);

    *ret_document = (struct leat_value){.kind = LEAT_VALUE_NULL};
    if (r == 0)
        r = leat_yaml_parse(text, n_bytes, file, ret_document, err);
    if (r == 0 && leat_value_get(ret_document, "fetch"))
        (void)setenv(LEAT_FETCH_CONFIG_NAME, file, 0); /* for a leat-fetch of this process */
    free(text);
    return r;
}

int leat_cli_streams_load(const char *file, const char *const *overrides, size_t n_overrides,
                          struct leat_cli_streams *ret_streams, struct leat_error *err) {
    struct leat_value document;
    int r = leat_cli_document_load(file, &document, err);

    *ret_streams = (struct leat_cli_streams){.n_specs = 0};
    for (size_t i = 0; r == 0 && i < n_overrides; i++)
        r = leat_override_apply(&document, overrides[i], err);
    if (r == 0)
        r = leat_yaml_streams(&document, file, &ret_streams->specs, &ret_streams->n_specs, err);
    leat_value_deinit(&document);
    return r;
}

void leat_cli_streams_deinit(struct leat_cli_streams *streams) {
    for (size_t i = 0; i < streams->n_specs; i++)
        leat_spec_free(streams->specs[i]);
    free(streams->specs);
    *streams = (struct leat_cli_streams){.n_specs = 0};
}

static void list_names(const struct leat_cli_streams *streams, char *buffer, size_t size) {
    buffer[0] = '\0';
    for (size_t i = 0; i < streams->n_specs && i < MAX_LISTED; i++) {
        size_t n = strlen(buffer);

        (void)snprintf(buffer + n, size - n, "%s%s", i ? ", " : "", streams->specs[i]->name);
    }
}

const struct leat_spec *leat_cli_streams_find(const struct leat_cli_streams *streams,
                                              const char *file, const char *name,
                                              struct leat_error *err) {
    char names[256];

    if (!name && streams->n_specs == 1)
        return streams->specs[0];
    for (size_t i = 0; name && i < streams->n_specs; i++)
        if (strcmp(streams->specs[i]->name, name) == 0)
            return streams->specs[i];
    list_names(streams, names, sizeof(names));
    if (streams->n_specs == 0)
        leat_error_set(err, -ENOENT, "the file has no streams; add one under \"streams:\"");
    else if (name)
        leat_error_set(err, -ENOENT, "the file has no stream \"%.64s\"; it has: %s", name, names);
    else
        leat_error_set(err, -EINVAL,
                       "the file has %zu streams; add the name of one stream after the file: %s",
                       streams->n_specs, names);
    leat_error_locate(err, file, 0, 0);
    return NULL;
}

struct leat_spec *leat_cli_spec_load(const char *file, const char *name, struct leat_error *err) {
    struct leat_cli_streams streams;
    const struct leat_spec *found = NULL;
    struct leat_spec *spec = NULL;

    if (leat_cli_streams_load(file, NULL, 0, &streams, err) == 0)
        found = leat_cli_streams_find(&streams, file, name, err);
    for (size_t i = 0; i < streams.n_specs; i++)
        if (streams.specs[i] == found) {
            spec = streams.specs[i];
            streams.specs[i] = NULL;
        }
    leat_cli_streams_deinit(&streams);
    return spec;
}

int leat_cli_spec_with(const struct leat_cli_arguments *arguments, leat_cli_spec_use *use,
                       struct leat_error *err) {
    struct leat_spec *spec = leat_cli_spec_load(arguments->operand, arguments->stream, err);
    int status = spec ? use(spec, arguments, err) : leat_cli_error_status(err);

    leat_spec_free(spec);
    return status;
}

/* ---- stages ---- */

/* "pad[2]": "pad", 2. "pad": 1. */
static size_t split_ordinal(const char *after, uint64_t *ret_ordinal) {
    size_t n = strcspn(after, "[");
    char *end = NULL;

    *ret_ordinal = 1;
    if (after[n] == '[')
        *ret_ordinal = strtoull(after + n + 1, &end, 10);
    if (end && strcmp(end, "]") != 0)
        *ret_ordinal = 0;
    return n;
}

static int fail_stage(const struct leat_spec *spec, const char *after, struct leat_error *err) {
    const char *names[LEAT_SPEC_MAX_STAGES + 1];
    const char *nearest;
    size_t n = 0;

    names[n++] = "source";
    for (size_t i = 0; i < spec->n_stages; i++)
        names[n++] = spec->stages[i].kind;
    nearest = leat_nearest(after, names, n);
    leat_error_set(
        err, -EINVAL, "--after: the stream %s has no stage \"%.64s\"%s%s%s", spec->name, after,
        nearest ? "; did you mean \""
                : "; give a name such as pad, pad[2] for the second pad, or a number from 0",
        nearest ? nearest : "", nearest ? "\"?" : "");
    return LEAT_CLI_USAGE;
}

int leat_cli_find_stage(const struct leat_spec *spec, const char *after, int *ret_stage,
                        struct leat_error *err) {
    uint64_t ordinal, n_seen = 0;
    size_t n = split_ordinal(after, &ordinal);
    char *end = NULL;
    unsigned long index = strtoul(after, &end, 10);

    *ret_stage = -1;
    if (strcmp(after, "source") == 0)
        return LEAT_CLI_OK;
    for (size_t i = 0; i < spec->n_stages; i++) {
        const char *kind = spec->stages[i].kind;

        if (strlen(kind) != n || memcmp(kind, after, n) != 0 || ++n_seen != ordinal)
            continue;
        *ret_stage = (int)i;
        return LEAT_CLI_OK;
    }
    if (after[0] < '0' || after[0] > '9' || *end || index >= spec->n_stages)
        return fail_stage(spec, after, err);
    *ret_stage = (int)index;
    return LEAT_CLI_OK;
}
