/* path.c: what the path of an axis means in a stream. Declared in vary.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/bench/vary.h"
#include "pipeline/plan/plan.h"
#include "pipeline/stage/stage.h"

static const struct leat_arg *find_arg(const struct leat_arg *args, const char *name, size_t n) {
    for (; args && args->name; args++)
        if (strlen(args->name) == n && memcmp(args->name, name, n) == 0)
            return args;
    return NULL;
}

static const struct leat_arg *args_of(const struct leat_stage_ops *ops) {
    return ops ? ops->args : NULL;
}

static int set_full(struct leat_bench_axis *axis, struct leat_error *err, const char *stream,
                    const char *before, const char *path) {
    if (asprintf(&axis->full, "%s%s%s%s%s", stream ? "streams." : "", stream ? stream : "",
                 stream ? "." : "", before, path) < 0) {
        axis->full = NULL;
        return leat_error_oom(err);
    }
    return 0;
}

/* A stage, or the source, that has an argument of that name. */
struct owner {
    char before[LEAT_NAME_MAX + 32]; /* "batch.", "source." */
    const struct leat_arg *arg;
    size_t n_owners;
};

static void find_owner(const struct leat_spec *spec, const char *name, struct owner *ret_owner) {
    size_t n = strlen(name);
    const struct leat_arg *arg = find_arg(args_of(leat_source_find(spec->source.kind)), name, n);

    *ret_owner = (struct owner){.arg = arg, .n_owners = arg != NULL};
    if (arg)
        (void)snprintf(ret_owner->before, sizeof(ret_owner->before), "source.");
    for (size_t i = 0; i < spec->n_stages; i++) {
        const char *kind = spec->stages[i].kind;

        arg = find_arg(args_of(leat_stage_find(kind)), name, n);
        if (!arg)
            continue;
        ret_owner->arg = arg;
        ret_owner->n_owners++;
        (void)snprintf(ret_owner->before, sizeof(ret_owner->before), "%.*s.", LEAT_NAME_MAX, kind);
    }
}

static int resolve_name(const char *option, const struct leat_spec *spec,
                        struct leat_bench_axis *axis, struct leat_error *err) {
    struct owner owner;

    axis->arg = find_arg(leat_stream_args, axis->path, strlen(axis->path));
    if (axis->arg)
        return set_full(axis, err, spec->name, "", axis->path);
    find_owner(spec, axis->path, &owner);
    if (owner.n_owners > 1)
        return leat_error_set(err, -EINVAL,
                              "%s \"%.64s\": %zu stages of the stream %s have such an argument; "
                              "say which: STAGE.%.64s",
                              option, axis->path, owner.n_owners, spec->name, axis->path);
    axis->arg = owner.arg;
    return set_full(axis, err, owner.arg ? spec->name : NULL, owner.before, axis->path);
}

/* The table of what is before the dot; whether there is such a thing is the override's to say. */
static const struct leat_arg *table_of(const struct leat_spec *spec, const char *path) {
    size_t n = strcspn(path, ".[");

    if (n == strlen("source") && memcmp(path, "source", n) == 0)
        return args_of(leat_source_find(spec->source.kind));
    for (size_t i = 0; i < spec->n_stages; i++)
        if (strlen(spec->stages[i].kind) == n && memcmp(spec->stages[i].kind, path, n) == 0)
            return args_of(leat_stage_find(spec->stages[i].kind));
    return NULL;
}

int leat_bench_axis_resolve(const char *option, const struct leat_spec *spec,
                            struct leat_bench_axis *axis, struct leat_error *err) {
    const char *dot = strchr(axis->path, '.');

    if (!dot)
        return resolve_name(option, spec, axis, err);
    axis->arg = find_arg(table_of(spec, axis->path), dot + 1, strlen(dot + 1));
    return set_full(axis, err, spec->name, "", axis->path);
}
