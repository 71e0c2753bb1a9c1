/* spec.c: life of a spec. Its form on the wire is in spec_message.c. */
#include "proto/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void stage_deinit(struct leat_stage_spec *stage) {
    free(stage->kind);
    leat_value_deinit(&stage->args);
}

struct leat_spec *leat_spec_free(struct leat_spec *spec) {
    if (!spec)
        return NULL;
    for (size_t i = 0; i < spec->n_stages; i++)
        stage_deinit(&spec->stages[i]);
    free(spec->stages);
    stage_deinit(&spec->source);
    leat_value_deinit(&spec->options);
    free(spec->name);
    free(spec->file);
    free(spec);
    return NULL;
}

int leat_spec_new(const char *name, const char *file, struct leat_spec **ret_spec) {
    struct leat_spec *spec = calloc(1, sizeof(*spec));

    if (!spec)
        return -ENOMEM;
    spec->name = strdup(name);
    spec->file = file ? strdup(file) : NULL;
    if (!spec->name || (file && !spec->file)) {
        leat_spec_free(spec);
        return -ENOMEM;
    }
    *ret_spec = spec;
    return 0;
}

int leat_spec_add_stage(struct leat_spec *spec, const char *kind,
                        struct leat_stage_spec **ret_stage) {
    struct leat_stage_spec *stages;
    char *copy;

    if (spec->n_stages >= LEAT_SPEC_MAX_STAGES)
        return -E2BIG;
    stages = reallocarray(spec->stages, spec->n_stages + 1, sizeof(*stages));
    if (!stages)
        return -ENOMEM;
    spec->stages = stages;
    copy = strdup(kind);
    if (!copy)
        return -ENOMEM;
    stages[spec->n_stages] = (struct leat_stage_spec){.kind = copy};
    *ret_stage = &stages[spec->n_stages++];
    return 0;
}

static int copy_stage(struct leat_stage_spec *target, const struct leat_stage_spec *source) {
    if (!target->kind && source->kind) {
        target->kind = strdup(source->kind);
        if (!target->kind)
            return -ENOMEM;
    }
    target->line = source->line;
    target->column = source->column;
    return leat_value_copy(&target->args, &source->args);
}

int leat_spec_copy(const struct leat_spec *spec, struct leat_spec **ret_spec) {
    struct leat_spec *copy = NULL;
    int r = leat_spec_new(spec->name, spec->file, &copy);

    if (r < 0)
        return r;
    copy->line = spec->line;
    copy->column = spec->column;
    r = copy_stage(&copy->source, &spec->source);
    if (r == 0)
        r = leat_value_copy(&copy->options, &spec->options);
    for (size_t i = 0; r == 0 && i < spec->n_stages; i++) {
        struct leat_stage_spec *stage;

        r = leat_spec_add_stage(copy, spec->stages[i].kind, &stage);
        if (r == 0)
            r = copy_stage(stage, &spec->stages[i]);
    }
    if (r < 0) {
        leat_spec_free(copy);
        return r;
    }
    *ret_spec = copy;
    return 0;
}

static bool is_same_stage(const struct leat_stage_spec *a, const struct leat_stage_spec *b) {
    return a->kind && b->kind && strcmp(a->kind, b->kind) == 0 &&
           leat_value_equal(&a->args, &b->args);
}

bool leat_spec_equal(const struct leat_spec *a, const struct leat_spec *b) {
    if (a->n_stages != b->n_stages || !is_same_stage(&a->source, &b->source) ||
        !leat_value_equal(&a->options, &b->options))
        return false;
    for (size_t i = 0; i < a->n_stages; i++)
        if (!is_same_stage(&a->stages[i], &b->stages[i]))
            return false;
    return true;
}
