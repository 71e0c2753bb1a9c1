/* planner.c: names to columns. See planner.h and stage.h. */
#include "pipeline/stage/planner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"
#include "proto/base/text.h"

#define UNREAD_TOLD 8

int leat_planner_init(struct leat_planner *planner) {
    *planner = (struct leat_planner){.batch_size = 1};
    planner->fields = calloc(LEAT_FIELDS_MAX, sizeof(*planner->fields));
    planner->names = calloc(LEAT_FIELDS_MAX, sizeof(*planner->names));
    return planner->fields && planner->names ? 0 : -ENOMEM;
}

void leat_planner_deinit(struct leat_planner *planner) {
    free(planner->fields);
    free(planner->names);
    free(planner->uses.items);
    free(planner->makes.items);
    free(planner->keeps.items);
    free(planner->lacks);
}

int leat_planner_add_lack(struct leat_planner *planner, const char *name, const char *why) {
    struct leat_planner_lack *lack;

    if (!leat_array_reserve(&planner->lacks, planner->n_lacks + 1, &planner->lacks_capacity))
        return -ENOMEM;
    lack = &planner->lacks[planner->n_lacks++];
    lack->is_unread = false;
    (void)snprintf(lack->name, sizeof(lack->name), "%s", name);
    (void)snprintf(lack->why, sizeof(lack->why), "%s", why);
    return 0;
}

int leat_planner_add_unread(struct leat_planner *planner, const char *name, const char *why) {
    int r = leat_planner_add_lack(planner, name, why);

    if (r == 0)
        planner->lacks[planner->n_lacks - 1].is_unread = true;
    return r;
}

char *leat_planner_tell_unread(const struct leat_planner *planner) {
    struct leat_text text = {.data = NULL};
    size_t n = 0;

    for (size_t i = 0; i < planner->n_lacks; i++)
        if (planner->lacks[i].is_unread && n++ < UNREAD_TOLD)
            leat_text_add(&text, "%s\"%s\": %s", n > 1 ? "; " : "", planner->lacks[i].name,
                          planner->lacks[i].why);
    if (n > UNREAD_TOLD)
        leat_text_add(&text, "; and %zu more", n - UNREAD_TOLD);
    if (text.failed)
        free(text.data);
    return text.failed ? NULL : text.data ? text.data : strdup("");
}

const char *leat_planner_lacks(const struct leat_planner *planner, const char *name) {
    for (size_t i = 0; i < planner->n_lacks; i++)
        if (strcmp(planner->lacks[i].name, name) == 0)
            return planner->lacks[i].why;
    return NULL;
}

static struct leat_planner_name *find_name(const struct leat_planner *planner, const char *name) {
    for (size_t i = 0; i < planner->n_names; i++)
        if (strcmp(planner->names[i].name, name) == 0)
            return &planner->names[i];
    return NULL;
}

static bool is_text(const struct leat_planner *planner, const struct leat_planner_name *name) {
    return planner->fields[name->column].dtype == LEAT_DTYPE_TEXT;
}

/* "PassengerId, Survived, Pclass, ..." */
static void list_names(const struct leat_planner *planner, bool only_texts, char *text,
                       size_t size) {
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < planner->n_names; i++) {
        if (only_texts && !is_text(planner, &planner->names[i]))
            continue;
        if (n + strlen(planner->names[i].name) + 8 > size) {
            (void)snprintf(text + n, size - n, ", ...");
            return;
        }
        n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", planner->names[i].name);
    }
}

static int no_such_field(struct leat_planner *planner, const struct leat_config *config,
                         const char *arg, const char *name, struct leat_error *err) {
    const char *candidates[LEAT_FIELDS_MAX];
    char list[300];
    const char *nearest;

    if (leat_planner_lacks(planner, name))
        return leat_config_error(config, arg, err, "\"%s\" is not a field here: %s", name,
                                 leat_planner_lacks(planner, name));
    for (size_t i = 0; i < planner->n_names; i++)
        candidates[i] = planner->names[i].name;
    nearest = leat_nearest(name, candidates, planner->n_names);
    if (nearest)
        return leat_config_error(
            config, arg, err, "there is no field \"%s\" here; did you mean \"%s\"?", name, nearest);
    list_names(planner, false, list, sizeof(list));
    return leat_config_error(config, arg, err, "there is no field \"%s\" here: the fields are %s",
                             name, list[0] ? list : "none");
}

static int add_edge(struct leat_planner_edges *edges, uint32_t stage, uint32_t column) {
    if (!leat_array_reserve(&edges->items, edges->n_items + 1, &edges->capacity))
        return -ENOMEM;
    edges->items[edges->n_items++] =
        (struct leat_planner_edge){.stage = stage, .column = column, .result = -1};
    return 0;
}

int leat_planner_use(struct leat_planner *planner, uint32_t column) {
    return add_edge(&planner->uses, planner->stage, column);
}

int leat_planner_use_for(struct leat_planner *planner, uint32_t column, uint32_t result) {
    int r = leat_planner_use(planner, column);

    if (r == 0)
        planner->uses.items[planner->uses.n_items - 1].result = (int32_t)result;
    return r;
}

int leat_planner_keep(struct leat_planner *planner, uint32_t column) {
    return add_edge(&planner->keeps, planner->stage, column);
}

int leat_planner_find(struct leat_planner *planner, const struct leat_config *config,
                      const char *arg, const char *name, uint32_t *ret_column,
                      struct leat_error *err) {
    const struct leat_planner_name *entry = find_name(planner, name);
    enum leat_making made = entry ? planner->fields[entry->column].made : LEAT_MADE_OF_RECORDS;

    if (made != LEAT_MADE_OF_RECORDS && made != LEAT_MADE_AS_MASK)
        return leat_config_error(
            config, arg, err,
            "\"%s\" exists only in batches, after `chunk` or `pack`: put `%s` before that stage",
            name, config->ops->name);
    return leat_planner_find_made(planner, config, arg, name, ret_column, err);
}

int leat_planner_find_made(struct leat_planner *planner, const struct leat_config *config,
                           const char *arg, const char *name, uint32_t *ret_column,
                           struct leat_error *err) {
    const struct leat_planner_name *entry = find_name(planner, name);

    if (!entry)
        return no_such_field(planner, config, arg, name, err);
    if (planner->fields[entry->column].made == LEAT_MADE_AS_MASK)
        return leat_config_error(
            config, arg, err,
            "\"%s\" is a mask, which exists only in batches, so no stage can read it", name);
    if (leat_planner_use(planner, entry->column) < 0)
        return leat_error_oom(err);
    *ret_column = entry->column;
    return 0;
}

bool leat_planner_has(const struct leat_planner *planner, const char *name) {
    return find_name(planner, name) != NULL;
}

const struct leat_field *leat_planner_field(const struct leat_planner *planner, uint32_t column) {
    return &planner->fields[column];
}

struct leat_field *leat_planner_edit(struct leat_planner *planner, uint32_t column) {
    return &planner->fields[column];
}

static int add_column(struct leat_planner *planner, const struct leat_config *config,
                      const char *arg, const char *name, enum leat_dtype dtype, bool is_list,
                      uint32_t *ret_column, struct leat_error *err) {
    struct leat_field *field = &planner->fields[planner->n_columns];
    size_t n = strlen(name);

    if (n == 0 || n > LEAT_NAME_MAX)
        return leat_config_error(config, arg, err,
                                 "the name of a field may have 1 to %d bytes; this one has %zu",
                                 LEAT_NAME_MAX, n);
    if (planner->n_columns == LEAT_FIELDS_MAX)
        return leat_config_error(config, arg, err, "there are more than %d fields",
                                 LEAT_FIELDS_MAX);
    if (add_edge(&planner->makes, planner->stage, planner->n_columns) < 0)
        return leat_error_oom(err);
    *field = (struct leat_field){.dtype = dtype, .is_list = is_list, .loss_column = -1};
    memcpy(field->name, name, n + 1);
    *ret_column = planner->n_columns++;
    return 0;
}

int leat_planner_add(struct leat_planner *planner, const struct leat_config *config,
                     const char *arg, const char *name, enum leat_dtype dtype, bool is_list,
                     uint32_t *ret_column, struct leat_field **ret_field, struct leat_error *err) {
    struct leat_planner_name *entry = find_name(planner, name);
    int r = add_column(planner, config, arg, name, dtype, is_list, ret_column, err);

    if (r < 0)
        return r;
    if (!entry) {
        entry = &planner->names[planner->n_names++];
        memcpy(entry->name, name, strlen(name) + 1);
    }
    entry->column = *ret_column;
    if (ret_field)
        *ret_field = &planner->fields[*ret_column];
    return 0;
}

int leat_planner_add_result(struct leat_planner *planner, const struct leat_config *config,
                            const char *input, const char *output, enum leat_dtype dtype,
                            bool is_list, uint32_t *ret_column, struct leat_field **ret_field,
                            struct leat_error *err) {
    return leat_planner_add(planner, config, output ? "output" : "input", output ? output : input,
                            dtype, is_list, ret_column, ret_field, err);
}

int leat_planner_add_hidden(struct leat_planner *planner, const struct leat_config *config,
                            const char *name, enum leat_dtype dtype, bool is_list,
                            uint32_t *ret_column, struct leat_error *err) {
    return add_column(planner, config, NULL, name, dtype, is_list, ret_column, err);
}

int leat_planner_rename(struct leat_planner *planner, const struct leat_config *config,
                        const char *arg, const char *from, const char *to, struct leat_error *err) {
    struct leat_planner_name *entry = find_name(planner, from);
    size_t n = strlen(to);

    if (!entry)
        return no_such_field(planner, config, arg, from, err);
    if (n == 0 || n > LEAT_NAME_MAX)
        return leat_config_error(config, arg, err,
                                 "the name of a field may have 1 to %d bytes; this one has %zu",
                                 LEAT_NAME_MAX, n);
    if (strcmp(from, to) != 0 && find_name(planner, to))
        return leat_config_error(config, arg, err,
                                 "cannot rename \"%s\" to \"%s\": that field already exists", from,
                                 to);
    memcpy(entry->name, to, n + 1);
    return 0;
}

int leat_planner_select(struct leat_planner *planner, const struct leat_config *config,
                        const char *arg, const struct leat_texts *fields, struct leat_error *err) {
    struct leat_planner_name *names = calloc(LEAT_FIELDS_MAX, sizeof(*names));
    int r = 0;

    if (!names)
        return leat_error_oom(err);
    for (size_t i = 0; r == 0 && i < fields->n_items; i++) {
        const struct leat_planner_name *entry = find_name(planner, fields->items[i]);

        if (!entry)
            r = no_such_field(planner, config, arg, fields->items[i], err);
        for (size_t k = 0; r == 0 && k < i; k++)
            if (strcmp(fields->items[k], fields->items[i]) == 0)
                r = leat_config_error(config, arg, err, "\"%s\" occurs twice", fields->items[i]);
        if (r == 0)
            names[i] = *entry;
    }
    if (r < 0) {
        free(names);
        return r;
    }
    free(planner->names);
    planner->names = names;
    planner->n_names = fields->n_items;
    return 0;
}

size_t leat_planner_names(const struct leat_planner *planner, const char **ret_names,
                          size_t capacity) {
    for (size_t i = 0; i < planner->n_names && i < capacity; i++)
        ret_names[i] = planner->names[i].name;
    return planner->n_names;
}

uint32_t leat_planner_column(const struct leat_planner *planner, size_t i) {
    return planner->names[i].column;
}

uint32_t leat_planner_maker(const struct leat_planner *planner, uint32_t column) {
    for (size_t i = 0; i < planner->makes.n_items; i++)
        if (planner->makes.items[i].column == column)
            return planner->makes.items[i].stage;
    return 0;
}

int leat_planner_default_text(const struct leat_planner *planner, const struct leat_config *config,
                              const char *arg, const char **name, struct leat_error *err) {
    const struct leat_planner_name *made = NULL, *given = NULL;
    size_t n_given = 0;
    char list[300];

    for (size_t i = 0; !*name && i < planner->n_names; i++) {
        const struct leat_planner_name *entry = &planner->names[i];

        if (!is_text(planner, entry))
            continue;
        if (leat_planner_maker(planner, entry->column) > 0)
            made = made && made->column > entry->column ? made : entry;
        else if (n_given++ == 0)
            given = entry;
    }
    if (*name)
        return 0;
    if (made || n_given == 1)
        return leat_config_default(name, made ? made->name : given->name, err);
    if (n_given == 0)
        return leat_config_error(
            config, NULL, err,
            "`%s` is missing, and no field is a text: make a text with `template`", arg);
    list_names(planner, true, list, sizeof(list));
    return leat_config_error(config, NULL, err,
                             "`%s` is missing, and %zu fields are texts: choose one of %s", arg,
                             n_given, list);
}

uint64_t leat_planner_stage_index(const struct leat_planner *planner) {
    return planner->kind_index;
}
