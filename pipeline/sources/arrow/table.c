#include "pipeline/sources/arrow/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/sources/arrow/values.h"

static int make_selections(struct leat_table *self) {
    size_t n = self->declared.n_items;

    self->selections = calloc(n, sizeof(*self->selections));
    self->paths = calloc(n, sizeof(*self->paths));
    if (!self->selections || !self->paths)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *text = self->declared.values[i], *space = strrchr(text, ' ');

        self->paths[i] =
            space ? strndup(text, (size_t)(space - text)) : strdup(self->declared.keys[i]);
        if (!self->paths[i])
            return -ENOMEM;
        self->selections[i] = (struct leat_arrow_selection){
            .name = self->declared.keys[i],
            .path = self->paths[i],
            .is_json = self->fields.fields[i].is_json,
            .is_text = self->fields.fields[i].dtype == LEAT_DTYPE_TEXT};
    }
    return 0;
}

int leat_table_check(struct leat_config *config, struct leat_error *err) {
    struct leat_table *self = (struct leat_table *)config;
    int r;

    if (self->declared.n_items == 0)
        return 0;
    r = leat_jsonl_fields_declare(&self->fields, config, "fields", &self->declared, err);
    if (r == 0 && make_selections(self) < 0)
        r = leat_error_oom(err);
    return r;
}

void leat_table_unload(struct leat_config *config) {
    struct leat_table *self = (struct leat_table *)config;

    for (size_t i = 0; self->paths && i < self->declared.n_items; i++)
        free(self->paths[i]);
    free(self->paths);
    free(self->selections);
    leat_jsonl_fields_deinit(&self->fields);
    leat_arrow_layout_deinit(&self->layout);
    leat_files_deinit(&self->source.files);
}

void leat_table_cutter(const struct leat_config *config, struct leat_cutter *ret_cutter) {
    (void)config;
    *ret_cutter = (struct leat_cutter){.kind = LEAT_CUTTER_FRAMES};
}

/* ---- the header ---- */

/* Reads the layout from the first frame, which has *ret_n bytes. -EAGAIN: it is not complete. */
static int read_layout(const uint8_t *head, size_t n_bytes, bool is_whole, const char *file,
                       struct leat_arrow_layout *ret_layout, size_t *ret_n,
                       struct leat_error *err) {
    uint32_t n_body = 0;
    int r;

    if (n_bytes >= LEAT_FRAME_HEAD_BYTES)
        memcpy(&n_body, head, sizeof(n_body));
    *ret_n = (size_t)n_body + LEAT_FRAME_HEAD_BYTES + LEAT_FRAME_TAIL_BYTES;
    if (n_bytes < *ret_n && !is_whole)
        return -EAGAIN;
    r = n_bytes < *ret_n ? -EBADMSG
                         : leat_arrow_layout_read(head + LEAT_FRAME_HEAD_BYTES, n_body, ret_layout);
    if (r == -ENOMEM)
        return leat_error_oom(err);
    return r < 0 ? leat_error_set(err, r, "%s: the file has no columns", file) : 0;
}

static int declare(struct leat_table *self, uint32_t i, struct leat_planner *planner,
                   struct leat_error *err) {
    const struct leat_config *config = &self->source.base;
    struct leat_jsonl_field *field = &self->fields.fields[i];
    bool is_view = field->dtype == LEAT_DTYPE_TEXT || field->is_list;

    struct leat_field *planned;
    int r = leat_planner_add(planner, config, "fields", field->name, field->dtype, is_view,
                             &field->column, &planned, err);

    if (r == 0)
        leat_jsonl_field_bound(field, planned);
    return r;
}

/* Declares a column that `fields` names. */
static int declare_wanted(struct leat_table *self, uint32_t i, struct leat_planner *planner,
                          struct leat_error *err) {
    const struct leat_arrow_slot *slot = &self->layout.slots[i];
    const char *wrong = leat_arrow_values_check(&self->fields.fields[i], slot);

    if (wrong)
        return leat_config_error(&self->source.base, "fields", err,
                                 "column \"%.64s\" has type %.128s, %s", self->selections[i].path,
                                 slot->type, wrong);
    return declare(self, i, planner, err);
}

/* Declares a column of the file, where there is no `fields`. */
static int declare_found(struct leat_table *self, uint32_t i, struct leat_planner *planner,
                         struct leat_error *err) {
    const struct leat_config *config = &self->source.base;
    const struct leat_arrow_slot *slot = &self->layout.slots[i];
    struct leat_jsonl_field *field;
    char why[LEAT_PLANNER_WHY_MAX];

    if (!slot->name[0] || strlen(slot->name) > LEAT_NAME_MAX)
        return leat_config_error(config, "fields", err,
                                 "the name of column %u, \"%.64s\", has %zu bytes; a name may have "
                                 "1 to %d bytes: in `fields`, list the columns that you want",
                                 i + 1, slot->name, strlen(slot->name), LEAT_NAME_MAX);
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(self->layout.slots[k].name, slot->name) == 0)
            return leat_config_error(config, "fields", err,
                                     "columns %u and %u have the same name \"%.64s\": in `fields`, "
                                     "list the columns that you want",
                                     k + 1, i + 1, slot->name);
    if (leat_jsonl_fields_add(&self->fields, slot->name, &field) < 0)
        return leat_error_oom(err);
    if (leat_arrow_values_infer(field, slot))
        return declare(self, i, planner, err);
    (void)snprintf(why, sizeof(why), "it has type %.64s, which leat does not read", slot->type);
    return leat_planner_add_unread(planner, slot->name, why) < 0 ? leat_error_oom(err) : 0;
}

int leat_table_probe(struct leat_config *config, const uint8_t *head, size_t n_bytes, bool is_whole,
                     const char *file, struct leat_planner *planner, struct leat_error *err) {
    struct leat_table *self = (struct leat_table *)config;
    size_t n;
    int r = read_layout(head, n_bytes, is_whole, file, &self->layout, &n, err);

    if (r == 0 && self->declared.n_items > 0 && self->layout.n_slots != self->declared.n_items)
        r = leat_error_set(err, -EBADMSG, "%s: the file lacks some columns of `fields`", file);
    for (uint32_t i = 0; r == 0 && i < self->layout.n_slots; i++)
        r = self->declared.n_items > 0 ? declare_wanted(self, i, planner, err)
                                       : declare_found(self, i, planner, err);
    return r < 0 ? r
                 : leat_jsonl_fields_set_missing(&self->fields, config, "missing", &self->missing,
                                                 err);
}

int leat_table_shorten_head(const struct leat_config *config, uint8_t *head, size_t *n_bytes,
                            bool is_whole, struct leat_error *err) {
    struct leat_arrow_layout layout = {.slots = NULL};
    int r = read_layout(head, *n_bytes, is_whole, "", &layout, n_bytes, err);

    (void)config;
    leat_arrow_layout_deinit(&layout);
    return r;
}

/* Checks that a file has the columns of the first one. */
static int compare(const struct leat_table *self, const struct leat_arrow_layout *layout,
                   const char *file, struct leat_error *err) {
    const struct leat_arrow_layout *first = &self->layout;
    const char *first_file = self->source.files.paths ? self->source.files.paths[0] : file;

    for (uint32_t i = 0; i < layout->n_slots && i < first->n_slots; i++) {
        const struct leat_arrow_slot *a = &layout->slots[i], *b = &first->slots[i];

        if (strcmp(a->name, b->name) != 0)
            return leat_error_set(err, -EINVAL,
                                  "%s: column %u is \"%.64s\" here but \"%.64s\" in %s: in "
                                  "`fields`, list the columns that you want",
                                  file, i + 1, a->name, b->name, first_file);
        if (a->cell != b->cell || a->number != b->number)
            return leat_error_set(err, -EINVAL,
                                  "%s: column \"%.64s\" has type %.64s here but %.64s in %s", file,
                                  a->name, a->type, b->type, first_file);
    }
    if (layout->n_slots != first->n_slots)
        return leat_error_set(err, -EINVAL, "%s: this file has %u columns, but %s has %u", file,
                              layout->n_slots, first_file, first->n_slots);
    return 0;
}

int leat_table_begin_file(const struct leat_config *config, const uint8_t *head, size_t n_bytes,
                          bool is_whole, const char *file, size_t *ret_skip, uint64_t *ret_lines,
                          struct leat_error *err) {
    const struct leat_table *self = (const struct leat_table *)config;
    struct leat_arrow_layout layout = {.slots = NULL};
    int r = read_layout(head, n_bytes, is_whole, file, &layout, ret_skip, err);

    *ret_lines = 0;
    if (r == 0)
        r = compare(self, &layout, file, err);
    leat_arrow_layout_deinit(&layout);
    return r;
}

/* ---- records ---- */

void leat_table_records(const struct leat_config *config, const struct leat_block *block,
                        uint8_t *out) {
    leat_arrow_stripes_to_frames(&((const struct leat_table *)config)->layout, block->source,
                                 block->n_source_bytes, out);
}

int leat_table_parse(const struct leat_config *config, struct leat_map *map,
                     struct leat_error *err) {
    const struct leat_table *self = (const struct leat_table *)config;
    struct leat_arrow_values values = {
        .source = &self->source, .layout = &self->layout, .fields = &self->fields};

    if (leat_arrow_values_parse(&values, map) < 0)
        return leat_error_oom(err);
    leat_jsonl_fields_check_lengths(&self->fields, map);
    return 0;
}

void leat_table_show(const struct leat_config *config, const uint8_t *record, size_t n_bytes,
                     struct leat_text *text) {
    leat_arrow_values_show(&((const struct leat_table *)config)->layout, record, n_bytes, text);
}
