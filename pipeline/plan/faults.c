#include "pipeline/plan/faults.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan.h"
#include "pipeline/spec/yaml.h"

int leat_faults_find_key(const struct leat_value *map, uint32_t line, uint32_t column) {
    int found = -1;

    for (size_t i = 0; map->kind == LEAT_VALUE_MAP && i < map->n_items; i++)
        if (map->keys[i].line < line ||
            (map->keys[i].line == line && map->keys[i].column <= column))
            found = (int)i;
    return found;
}

int leat_faults_drop_key(struct leat_value *map, size_t index) {
    struct leat_value less = {.kind = LEAT_VALUE_NULL};
    int r = 0;

    for (size_t i = 0; r == 0 && i < map->n_items; i++) {
        struct leat_value *item;

        if (i == index)
            continue;
        r = leat_value_insert_at(&less, map->keys[i].name, map->keys[i].line, map->keys[i].column,
                                 &item);
        if (r == 0)
            r = leat_value_copy(item, &map->items[i]);
    }
    if (r == 0 && less.kind == LEAT_VALUE_NULL) {
        less.line = map->line;
        less.column = map->column;
    }
    leat_value_deinit(r < 0 ? &less : map);
    if (r == 0)
        *map = less;
    return r;
}

/* ---- of the shape of streams ---- */

size_t leat_faults_read_streams(struct leat_value *document, const char *file,
                                struct leat_spec ***ret_specs, size_t *ret_n_specs,
                                leat_fault_report *report, void *data) {
    size_t n_told = 0;

    for (;;) {
        struct leat_value *streams = leat_value_get(document, "streams");
        struct leat_error err = LEAT_ERROR_INIT;
        int key;

        if (leat_yaml_streams(document, file, ret_specs, ret_n_specs, &err) == 0)
            return n_told;
        *ret_specs = NULL;
        *ret_n_specs = 0;
        report(data, &err);
        key = streams ? leat_faults_find_key(streams, err.line, err.column) : -1;
        if (++n_told == LEAT_FAULTS_MAX || key < 0 ||
            leat_faults_drop_key(streams, (size_t)key) < 0)
            return n_told;
    }
}

/* ---- of a stream ---- */

#define SOURCE  LEAT_SPEC_MAX_STAGES /* owner of a fault that is no stage's */
#define OPTIONS (LEAT_SPEC_MAX_STAGES + 1)

struct search {
    struct leat_spec *spec; /* a copy, from which reported faults are removed */
    leat_fault_report *report;
    void *data;
    size_t n_told;
    struct leat_error last;
    size_t owner;    /* the last owner from which arguments were removed */
    char told[4096]; /* names of these arguments, and what was wrong */
};

/* Finds the owner of the fault by the path of the error ("streams.NAME.stages[3].pad.length"). */
static size_t find_owner(const struct search *search, const struct leat_error *err) {
    const struct leat_spec *spec = search->spec;
    char prefix[sizeof(err->path)];
    size_t n = (size_t)snprintf(prefix, sizeof(prefix), "streams.%s.", spec->name), stage;

    if (n < sizeof(prefix) && strncmp(err->path, prefix, n) == 0) {
        const char *path = err->path + n;

        if (sscanf(path, "stages[%zu]", &stage) == 1 && stage < spec->n_stages)
            return stage;
        if (strncmp(path, "source", strlen("source")) == 0)
            return SOURCE;
    }
    return OPTIONS;
}

static struct leat_value *args_of(struct leat_spec *spec, size_t owner) {
    return owner == OPTIONS  ? &spec->options
           : owner == SOURCE ? &spec->source.args
                             : &spec->stages[owner].args;
}

/* Replaces the stage by one that nothing is wrong with, so that others keep their numbers. Behind
 * `batch` there is none, but the last stage may go. */
static int pass_over(struct leat_spec *spec, size_t index) {
    struct leat_stage_spec *stage = &spec->stages[index];
    bool is_behind_batch = false;
    char *kind;

    for (size_t i = 0; i < index; i++)
        is_behind_batch |= strcmp(spec->stages[i].kind, "batch") == 0;
    if ((is_behind_batch && index + 1 < spec->n_stages) || strcmp(stage->kind, "tensors") == 0)
        return -EINVAL;
    kind = strdup("tensors");
    if (!kind)
        return -ENOMEM;
    free(stage->kind);
    stage->kind = kind;
    leat_value_deinit(&stage->args);
    if (is_behind_batch)
        free(spec->stages[--spec->n_stages].kind);
    return 0;
}

/* Replaces the source by one that nothing is wrong with. */
static int replace_source(struct leat_spec *spec) {
    struct leat_value *paths = NULL;
    char *kind = strdup("text");

    if (!kind)
        return -ENOMEM;
    free(spec->source.kind);
    spec->source.kind = kind;
    leat_value_deinit(&spec->source.args);
    return leat_value_insert(&spec->source.args, "paths", &paths) < 0
               ? -ENOMEM
               : leat_value_set_text(paths, "x", false);
}

/* True if the fault follows from the removal of arguments. A missing argument is a fault of its
 * own, unless it was removed or meant by one that was: `told` names those. */
static bool is_consequence(const struct search *search, size_t owner,
                           const struct leat_error *err) {
    const char *end = strstr(err->message, " is missing: ");
    char name[LEAT_NAME_MAX + 1];

    if (owner != search->owner || !search->told[0])
        return false;
    if (!end || end - err->message > LEAT_NAME_MAX)
        return true;
    (void)snprintf(name, sizeof(name), "%.*s", (int)(end - err->message), err->message);
    return strstr(search->told, name) != NULL;
}

/* Notes that an argument of the owner was removed. */
static void note_argument(struct search *search, size_t owner, const char *name,
                          const struct leat_error *err) {
    size_t n = owner == search->owner ? strlen(search->told) : 0;

    search->owner = owner;
    (void)snprintf(search->told + n, sizeof(search->told) - n, " %s %s", name, err->message);
}

/* Reports the fault and removes it. False: no more can be found. */
static bool take_out(struct search *search, const struct leat_error *err) {
    size_t owner = find_owner(search, err);
    struct leat_value *args = args_of(search->spec, owner);
    const struct leat_stage_spec *stage =
        owner < SOURCE ? &search->spec->stages[owner] : &search->spec->source;
    bool is_of_stage = owner != OPTIONS && err->line == stage->line && err->column == stage->column;
    int key = is_of_stage ? -1 : leat_faults_find_key(args, err->line, err->column);

    if (memcmp(err, &search->last, sizeof(*err)) == 0)
        return false;
    search->last = *err;
    if (key >= 0 || !is_consequence(search, owner, err)) {
        search->report(search->data, err);
        search->n_told++;
    }
    if (key >= 0) {
        note_argument(search, owner, args->keys[key].name, err);
        return leat_faults_drop_key(args, (size_t)key) == 0;
    }
    if (owner < SOURCE)
        return pass_over(search->spec, owner) == 0;
    return owner == SOURCE && strcmp(stage->kind, "text") != 0 && replace_source(search->spec) == 0;
}

size_t leat_plan_faults(const struct leat_spec *spec, leat_fault_report *report, void *data) {
    struct search search = {.report = report, .data = data};
    bool goes_on = leat_spec_copy(spec, &search.spec) == 0;

    while (goes_on && search.n_told < LEAT_FAULTS_MAX) {
        struct leat_error err = LEAT_ERROR_INIT;

        goes_on = leat_plan_check(search.spec, &err) < 0 && take_out(&search, &err);
    }
    leat_spec_free(search.spec);
    return search.n_told;
}
