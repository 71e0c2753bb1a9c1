#include "daemon/stream/variant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/slot.h"

#define SPLIT   "split"
#define PART    "part"
#define SHUFFLE "shuffle"

static size_t count_stages(const struct leat_spec *spec, const char *kind) {
    size_t n = 0;

    for (size_t i = 0; i < spec->n_stages; i++)
        n += strcmp(spec->stages[i].kind, kind) == 0;
    return n;
}

static int set_part(struct leat_spec *spec, const char *split, struct leat_error *err) {
    struct leat_value *part = NULL;

    for (size_t i = 0; i < spec->n_stages; i++)
        if (strcmp(spec->stages[i].kind, SPLIT) == 0)
            part = leat_value_get(&spec->stages[i].args, PART);
    if (!part || part->kind != LEAT_VALUE_SCALAR)
        return leat_error_set(
            err, -EINVAL,
            "the stream %s has no stage `split` for the part \"%.32s\", and there is no stream "
            "\"%s.%.32s\": ask the operator to add one of them",
            spec->name, split, spec->name, split);
    if (leat_value_get(&spec->options, "skip_steps") &&
        strcmp(part->text, split) != 0) /* steps are counted in the declared part */
        return leat_error_set(err, -EINVAL,
                              "the option `skip_steps` of the stream %s counts steps of the part "
                              "\"%.32s\": remove this option to read the part \"%.32s\"",
                              spec->name, part->text, split);
    free(part->text);
    part->text = strdup(split);
    return part->text ? 0 : leat_error_oom(err);
}

static void remove_shuffles(struct leat_spec *spec) {
    size_t n = 0;

    for (size_t i = 0; i < spec->n_stages; i++) {
        struct leat_stage_spec *stage = &spec->stages[i];

        if (strcmp(stage->kind, SHUFFLE) != 0) {
            spec->stages[n++] = *stage;
            continue;
        }
        free(stage->kind);
        leat_value_deinit(&stage->args);
    }
    spec->n_stages = n;
}

static int rename_spec(struct leat_spec *spec, const struct leat_variant *variant,
                       struct leat_error *err) {
    bool is_off = variant->shuffle == LEAT_VARIANT_SHUFFLE_OFF;
    char name[LEAT_NAME_MAX + 1];
    int n = snprintf(name, sizeof(name), "%s%s%s%s", spec->name, variant->split[0] ? "." : "",
                     variant->split, is_off ? ".unshuffled" : "");

    if (n < 0 || (size_t)n >= sizeof(name))
        return leat_error_set(err, -EINVAL,
                              "the name of the stream %s plus a suffix such as \".train\" is "
                              "longer than %d bytes: use a shorter name",
                              spec->name, LEAT_NAME_MAX);
    free(spec->name);
    spec->name = strdup(name);
    return spec->name ? 0 : leat_error_oom(err);
}

static int change_spec(struct leat_spec *spec, const struct leat_variant *variant,
                       struct leat_error *err) {
    int r = 0;

    if (variant->shuffle == LEAT_VARIANT_SHUFFLE_ON && count_stages(spec, SHUFFLE) == 0)
        return leat_error_set(err, -EINVAL,
                              "the stream %s has no stage `shuffle`: ask the operator to add one",
                              spec->name);
    if (variant->split[0])
        r = set_part(spec, variant->split, err);
    if (r == 0 && variant->shuffle == LEAT_VARIANT_SHUFFLE_OFF)
        remove_shuffles(spec);
    return r == 0 ? rename_spec(spec, variant, err) : r;
}

int leat_variant_make(const struct leat_spec *declared, const struct leat_variant *variant,
                      struct leat_spec **ret_spec, struct leat_error *err) {
    struct leat_spec *spec;
    int r;

    if (leat_spec_copy(declared, &spec) < 0)
        return leat_error_oom(err);
    r = change_spec(spec, variant, err);
    if (r < 0) {
        leat_spec_free(spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}
