/* csv.c: CSV files by RFC 4180.
 *
 * Fields (cut/fields.h) are views into the source, or into a copy if bytes that are not UTF-8 were
 * mended. At the end of a block, columns that outlive it and those with doubled quotes are copied.
 * Nothing is trimmed. A record is bad if its quoting is not that of RFC 4180, or if it has another
 * number of fields than the header.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/cut/fields.h"
#include "pipeline/stage/stage.h"
#include "pipeline/tokenizer/json.h"

struct csv {
    struct leat_source_config source;
    const char *delimiter;
    const char *quote;
    bool header;
    struct leat_texts names;

    char **columns; /* names in the first header, as it is in the file; NULL without a header */
    size_t n_columns;
    uint32_t first_column; /* of the planner; the others follow */
};

static const struct leat_arg args[] = {
    LEAT_SOURCE_ARGS("replace"),
    LEAT_ARG(csv, delimiter, TEXT, "the byte between two fields; write \"\\t\" for tabs",
             .fallback = ","),
    LEAT_ARG(csv, quote, TEXT,
             "the quote character; in a quoted field, two of these characters stand for one; \"\": "
             "the files have no quotes",
             .fallback = "\""),
    LEAT_ARG(csv, header, BOOL,
             "true: the first record of each file contains the names of the fields",
             .fallback = "true"),
    LEAT_ARG(csv, names, TEXTS,
             "the names of the fields, in place of the names in the header; required if "
             "the files have no header",
             .min = 1, .max = LEAT_FIELDS_MAX),
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct csv *self = (const struct csv *)config;

    if (strlen(self->delimiter) != 1 || strchr("\r\n", self->delimiter[0]) ||
        (self->delimiter[0] & 0x80))
        return leat_config_error(
            config, "delimiter", err,
            "\"%.16s\" cannot separate fields: give one ASCII character that is not a line end",
            self->delimiter);
    if (strlen(self->quote) > 1 || (self->quote[0] && strchr("\r\n", self->quote[0])) ||
        (self->quote[0] & 0x80))
        return leat_config_error(
            config, "quote", err,
            "\"%.16s\" cannot quote fields: give one ASCII character that is not a line end",
            self->quote);
    if (self->quote[0] == self->delimiter[0])
        return leat_config_error(config, "quote", err,
                                 "`quote` and `delimiter` are the same: change one");
    if (!self->header && self->names.n_items == 0)
        return leat_config_error(config, "header", err,
                                 "a file without a header needs `names` for its fields");
    return 0;
}

static void cutter(const struct leat_config *config, struct leat_cutter *ret_cutter) {
    const struct csv *self = (const struct csv *)config;

    *ret_cutter = (struct leat_cutter){.kind = LEAT_CUTTER_CSV,
                                       .delimiter = (uint8_t)self->delimiter[0],
                                       .quote = (uint8_t)self->quote[0]};
}

static void unload(struct leat_config *config) {
    struct csv *self = (struct csv *)config;

    for (size_t i = 0; self->columns && i < self->n_columns; i++)
        free(self->columns[i]);
    free(self->columns);
    leat_files_deinit(&self->source.files);
}

/* ---- the header ---- */

struct header {
    char **names;
    size_t n_names;
};

static void header_deinit(struct header *header) {
    for (size_t i = 0; i < header->n_names; i++)
        free(header->names[i]);
    free(header->names);
}

static char *field_name(const struct leat_cutter *cutter, const uint8_t *record,
                        const struct leat_cutter_field *field) {
    size_t n = field->end - field->start;
    char *name = malloc(n + 1);

    if (!name)
        return NULL;
    if (field->has_doubled)
        n = leat_cutter_unquote(cutter, record + field->start, n, (uint8_t *)name);
    else if (n > 0)
        memcpy(name, record + field->start, n);
    name[n] = '\0';
    return name;
}

/* Finds the first record. -EAGAIN: it is not complete. */
static int first_record(const struct csv *self, const uint8_t *head, size_t n_bytes, bool is_whole,
                        size_t *ret_start, size_t *ret_end, size_t *ret_next, uint64_t *ret_lines,
                        struct leat_error *err) {
    struct leat_cutter cutter_ = {.max_record_bytes = UINT32_MAX};
    size_t bom = leat_source_bom(head, n_bytes);
    struct leat_cut cut;
    uint32_t *starts;

    cutter(&self->source.base, &cutter_);
    cutter_.max_record_bytes = INT32_MAX;
    *ret_start = *ret_end = *ret_next = bom;
    *ret_lines = 0;
    leat_cutter_cut(&cutter_, head + bom, n_bytes - bom, is_whole, &cut);
    if (cut.n_records == 0)
        return is_whole ? 0 : -EAGAIN;
    starts = calloc(2 * cut.n_records, sizeof(*starts)); /* and ends */
    if (!starts)
        return leat_error_oom(err);
    (void)leat_cutter_index(&cutter_, head + bom, cut.n_bytes, starts, starts + cut.n_records,
                            cut.n_records);
    *ret_start = bom + starts[0];
    *ret_end = bom + starts[cut.n_records];
    *ret_next = *ret_end;
    while (*ret_next < n_bytes && head[*ret_next] != '\n')
        (*ret_next)++;
    *ret_next += *ret_next < n_bytes;
    for (size_t i = 0; i < *ret_next; i++)
        *ret_lines += head[i] == '\n';
    free(starts);
    return 0;
}

static int split_header(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                        struct header *ret_header, struct leat_error *err) {
    struct leat_cutter_field *fields = calloc(LEAT_FIELDS_MAX, sizeof(*fields));
    uint32_t n_fields;
    int r = 0;

    ret_header->names = calloc(LEAT_FIELDS_MAX, sizeof(*ret_header->names));
    if (!fields || !ret_header->names)
        r = leat_error_oom(err);
    else if (!leat_cutter_split(cutter, record, n_bytes, n_bytes, fields, LEAT_FIELDS_MAX,
                                &n_fields))
        r = leat_error_set(err, -EBADMSG, "the header is not valid CSV: it has a misplaced quote");
    else if (n_fields > LEAT_FIELDS_MAX)
        r = leat_error_set(err, -EBADMSG, "the header has more than %d fields", LEAT_FIELDS_MAX);
    for (uint32_t i = 0; r == 0 && i < n_fields; i++) {
        ret_header->names[i] = field_name(cutter, record, &fields[i]);
        r = ret_header->names[i] ? 0 : leat_error_oom(err);
        ret_header->n_names += r == 0;
    }
    free(fields);
    return r;
}

static int read_header(const struct csv *self, const uint8_t *record, size_t n_bytes,
                       const char *file, struct header *ret_header, struct leat_error *err) {
    struct leat_cutter cutter_;
    uint32_t line, column;
    const char *wrong;
    int r;

    cutter(&self->source.base, &cutter_);
    cutter_.max_record_bytes = INT32_MAX;
    wrong = leat_cutter_check(&cutter_, record, n_bytes, &line, &column);
    if (wrong) {
        r = leat_error_set(err, -EBADMSG, "the header %s", wrong);
        leat_error_locate(err, file, line + 1, column);
        return r;
    }
    if (leat_json_is_utf8(record, n_bytes))
        r = split_header(&cutter_, record, n_bytes, ret_header, err);
    else
        r = leat_error_set(err, -EBADMSG, "the header is not valid UTF-8");
    if (r == -EBADMSG)
        leat_error_locate(err, file, 1, 0);
    return r;
}

static int declare(struct csv *self, char *const *names, size_t n_names, const char *file,
                   struct leat_planner *planner, struct leat_error *err) {
    int wrong = self->names.n_items > 0 ? -EINVAL : -EBADMSG; /* of spec or file */

    for (size_t i = 0; i < n_names; i++) {
        uint32_t column;
        int r;

        for (size_t k = 0; k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                return leat_error_set(err, wrong,
                                      "%s: fields %zu and %zu have the same name \"%.64s\": give "
                                      "all names with `names`",
                                      file, k + 1, i + 1, names[i]);
        if (!names[i][0])
            return leat_error_set(
                err, wrong, "%s: field %zu has no name: give all names with `names`", file, i + 1);
        r = leat_planner_add(planner, &self->source.base, "names", names[i], LEAT_DTYPE_TEXT, true,
                             &column, NULL, err);
        if (r < 0)
            return r;
        if (i == 0)
            self->first_column = column;
    }
    return 0;
}

static int probe(struct leat_config *config, const uint8_t *head, size_t n_bytes, bool is_whole,
                 const char *file, struct leat_planner *planner, struct leat_error *err) {
    struct csv *self = (struct csv *)config;
    struct header header = {.names = NULL};
    size_t start, end, next;
    uint64_t lines;
    int r;

    if (!self->header) {
        self->n_columns = self->names.n_items;
        return declare(self, self->names.items, self->names.n_items, file, planner, err);
    }
    r = first_record(self, head, n_bytes, is_whole, &start, &end, &next, &lines, err);
    if (r < 0)
        return r;
    if (start == end)
        return leat_error_set(
            err, -EBADMSG, "%s: the file is empty; expected a header that names the fields", file);
    r = read_header(self, head + start, end - start, file, &header, err);
    if (r < 0) {
        header_deinit(&header);
        return r;
    }
    self->columns = header.names;
    self->n_columns = header.n_names;
    if (self->names.n_items == 0)
        return declare(self, self->columns, self->n_columns, file, planner, err);
    if (self->names.n_items != self->n_columns)
        return leat_config_error(config, "names", err,
                                 "`names` has %zu names, but %s has %zu fields",
                                 self->names.n_items, file, self->n_columns);
    return declare(self, self->names.items, self->n_columns, file, planner, err);
}

static int shorten_head(const struct leat_config *config, uint8_t *head, size_t *n_bytes,
                        bool is_whole, struct leat_error *err) {
    const struct csv *self = (const struct csv *)config;
    size_t start, end, n_left = 0;
    uint64_t lines;
    int r = self->header
                ? first_record(self, head, *n_bytes, is_whole, &start, &end, &n_left, &lines, err)
                : 0;

    *n_bytes = n_left;
    return r;
}

static int compare_header(const struct csv *self, const struct header *header, const char *file,
                          struct leat_error *err) {
    if (header->n_names != self->n_columns)
        leat_error_set(err, -EBADMSG, "the header has %zu fields, but the header of %s has %zu",
                       header->n_names, self->source.files.paths[0], self->n_columns);
    for (size_t i = 0; i < header->n_names && i < self->n_columns; i++)
        if (strcmp(header->names[i], self->columns[i]) != 0)
            leat_error_set(err, -EBADMSG, "field %zu is \"%.64s\" here, but \"%.64s\" in %s", i + 1,
                           header->names[i], self->columns[i], self->source.files.paths[0]);
    if (!err->code)
        return 0;
    leat_error_locate(err, file, 1, 0);
    return -EBADMSG;
}

static int begin_file(const struct leat_config *config, const uint8_t *head, size_t n_bytes,
                      bool is_whole, const char *file, size_t *ret_skip, uint64_t *ret_lines,
                      struct leat_error *err) {
    const struct csv *self = (const struct csv *)config;
    struct header header = {.names = NULL};
    size_t start, end;
    int r;

    if (!self->header)
        return leat_source_begin_file(config, head, n_bytes, is_whole, file, ret_skip, ret_lines,
                                      err);
    r = first_record(self, head, n_bytes, is_whole, &start, &end, ret_skip, ret_lines, err);
    if (r < 0 || start == end)
        return r;
    r = read_header(self, head + start, end - start, file, &header, err);
    if (r == 0)
        r = compare_header(self, &header, file, err);
    header_deinit(&header);
    return r;
}

/* ---- records ---- */

/* One job. */
struct rows {
    const struct csv *self;
    struct leat_map *map;
    struct leat_cutter_field *fields; /* [n_columns]: of the current record */
    struct leat_column **columns;     /* [n_columns]; NULL: not needed */
    bool *has_doubled;                /* [n_columns]: a field has doubled quotes */
    uint32_t n_columns;
    const uint8_t *text; /* what the columns are views into: the source, or `mended` */
    uint8_t *mended;     /* the mended records; NULL: none is mended */
    uint32_t n_mended;
    bool has_returns; /* the block has CR */
};

static int make_columns(struct rows *rows) {
    struct leat_map *map = rows->map;
    uint32_t n = (uint32_t)rows->self->n_columns;

    rows->n_columns = n;
    rows->fields = leat_arena_alloc(map->scratch, n * sizeof(*rows->fields));
    rows->columns = leat_arena_alloc(map->scratch, n * sizeof(*rows->columns));
    rows->has_doubled = leat_arena_alloc(map->scratch, n * sizeof(*rows->has_doubled));
    if (!rows->fields || !rows->columns || !rows->has_doubled)
        return -ENOMEM;
    memset(rows->has_doubled, 0, n * sizeof(*rows->has_doubled));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t column = rows->self->first_column + i;

        rows->columns[i] = map->is_needed[column] ? leat_map_column(map, column) : NULL;
        if (rows->columns[i] && leat_map_make_views(map, column) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int choose_text(struct rows *rows) {
    const struct leat_block *block = rows->map->block;

    rows->text = block->source;
    if (leat_source_is_utf8(rows->map))
        return 0;
    rows->mended =
        leat_arena_alloc(rows->map->scratch, LEAT_SOURCE_MENDED_MAX * block->n_source_bytes);
    rows->text = rows->mended;
    return rows->mended ? 0 : -ENOMEM;
}

static bool is_suspect(const struct rows *rows, const struct leat_source_record *record) {
    return record->n_bytes >= rows->map->cutter->max_record_bytes ||
           (rows->has_returns && memchr(record->bytes, '\r', record->n_bytes));
}

/* Appends the mended record to `mended`. False: it is bad. */
static bool mend(struct rows *rows, uint32_t row, struct leat_source_record *record) {
    uint8_t *copy = rows->mended + rows->n_mended;
    int r = leat_source_mend(&rows->self->source, rows->map, row, record);

    rows->map->is_out_of_memory |= r == -ENOMEM;
    if (r < 0)
        return false;
    memcpy(copy, record->bytes, record->n_bytes);
    rows->n_mended += (uint32_t)record->n_bytes;
    record->bytes = copy;
    record->n_readable = record->n_bytes;
    return true;
}

static bool has_right_number(struct rows *rows, uint32_t row, uint32_t n_fields) {
    uint64_t max_fields = rows->map->max_fields;

    if (max_fields && n_fields > max_fields)
        leat_map_reject_at(rows->map, row, 0, 0,
                           "the record has %u fields, more than max_fields (%llu)", n_fields,
                           (unsigned long long)max_fields);
    else if (n_fields != rows->n_columns)
        leat_map_reject_at(rows->map, row, 0, 0, "the record has %u fields, but %u were expected",
                           n_fields, rows->n_columns);
    else
        return true;
    return false;
}

/* Finds the fields of a record and its place in the text. False: it is bad. */
static bool split_record(struct rows *rows, uint32_t row, uint32_t *ret_start) {
    struct leat_source_record record = leat_source_record(rows->map, row);
    uint32_t n_fields;

    if (is_suspect(rows, &record) && leat_source_reject_malformed(rows->map, row, &record))
        return false;
    if (rows->mended && !mend(rows, row, &record))
        return false;
    *ret_start = (uint32_t)(record.bytes - rows->text);
    if (leat_cutter_split(rows->map->cutter, record.bytes, record.n_bytes, record.n_readable,
                          rows->fields, rows->n_columns, &n_fields))
        return has_right_number(rows, row, n_fields);
    if (!leat_source_reject_malformed(rows->map, row, &record))
        leat_map_reject_at(rows->map, row, 0, 0, "the record is not valid CSV");
    return false;
}

static void put_row(struct rows *rows, uint32_t row, uint32_t start) {
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        const struct leat_cutter_field *field = &rows->fields[i];
        struct leat_column *column = rows->columns[i];

        if (!column)
            continue;
        column->starts[row] = start + field->start;
        column->lengths[row] = field->end - field->start;
        rows->has_doubled[i] |= field->has_doubled;
    }
}

static void clear_row(struct rows *rows, uint32_t row) {
    for (uint32_t i = 0; i < rows->n_columns; i++)
        if (rows->columns[i])
            rows->columns[i]->starts[row] = rows->columns[i]->lengths[row] = 0;
}

/* ---- columns that cannot be views ---- */

/* Copies a field, without its doubled quotes. */
static size_t copy_field(const struct rows *rows, bool has_doubled, const uint8_t *bytes, size_t n,
                         uint8_t *out) {
    if (has_doubled)
        return leat_cutter_unquote(rows->map->cutter, bytes, n, out);
    if (n > 0)
        memcpy(out, bytes, n);
    return n;
}

static int copy_column(struct rows *rows, uint32_t i) {
    struct leat_column *column = rows->columns[i];
    uint32_t index = rows->self->first_column + i, n_bytes = 0;
    uint8_t *copy = leat_map_alloc(rows->map, index, leat_map_n_items(rows->map, index));

    if (!copy)
        return -ENOMEM;
    column->values = copy;
    for (uint32_t row = 0; row < rows->map->block->n_rows; row++) {
        const uint8_t *bytes = rows->text + column->starts[row];

        column->starts[row] = n_bytes;
        column->lengths[row] = (uint32_t)copy_field(rows, rows->has_doubled[i], bytes,
                                                    column->lengths[row], copy + n_bytes);
        n_bytes += column->lengths[row];
    }
    return 0;
}

static int finish_columns(struct rows *rows) {
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < rows->n_columns; i++) {
        if (!rows->columns[i])
            continue;
        if (rows->has_doubled[i] || rows->map->is_kept[rows->self->first_column + i])
            r = copy_column(rows, i);
        else
            rows->columns[i]->values = (void *)(uintptr_t)rows->text;
    }
    return r;
}

static int parse(const struct leat_config *config, struct leat_map *map, struct leat_error *err) {
    const struct leat_block *block = map->block;
    struct rows rows = {.self = (const struct csv *)config,
                        .map = map,
                        .has_returns = memchr(block->source, '\r', block->n_source_bytes)};

    if (make_columns(&rows) < 0 || choose_text(&rows) < 0)
        return leat_error_oom(err);
    for (uint32_t row = 0; row < block->n_rows; row++) {
        uint32_t start;

        if (split_record(&rows, row, &start))
            put_row(&rows, row, start);
        else
            clear_row(&rows, row);
    }
    return finish_columns(&rows) < 0 ? leat_error_oom(err) : 0;
}

const struct leat_stage_ops leat_source_csv = {
    LEAT_STAGE_BASE("csv", csv, SOURCE),
    .summary = "reads CSV files (RFC 4180); every field is text",
    .example = "{ paths: [train-*.csv] }",
    .suffixes = (const struct leat_source_suffix[]){{.text = ".csv"},
                                                    {".tsv", "delimiter", "\t"},
                                                    {.text = NULL}},
    .check = check,
    .load = leat_source_load,
    .unload = unload,
    .probe = probe,
    .shorten_head = shorten_head,
    .cutter = cutter,
    .begin_file = begin_file,
    .parse = parse,
};
