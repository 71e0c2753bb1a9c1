/* csv.c: CSV files by RFC 4180, fields by libcsv.
 *
 * The cutter (cutter.h) has found the records; libcsv splits each into fields, which are copied one
 * behind the other into one buffer per block. Nothing is trimmed. A record whose quoting is not RFC
 * 4180's, or that has another number of fields than the header, is bad. The rows of a block are its
 * records, so that what follows can name the line.
 */
#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/stage.h"
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
    {.name = "delimiter",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct csv, delimiter),
     .fallback = ",",
     .help = "one byte between fields; \"\\t\" for tabs"},
    {.name = "quote",
     .type = LEAT_ARG_TEXT,
     .offset = offsetof(struct csv, quote),
     .fallback = "\"",
     .help = "one byte around fields, doubled inside; \"\" for files without quoting"},
    {.name = "header",
     .type = LEAT_ARG_BOOL,
     .offset = offsetof(struct csv, header),
     .fallback = "true",
     .help = "whether the first record of each file holds the names of the fields"},
    {.name = "names",
     .type = LEAT_ARG_TEXTS,
     .offset = offsetof(struct csv, names),
     .min = 1,
     .max = LEAT_FIELDS_MAX,
     .help = "names of the fields, in place of those in the header; needed where there is none"},
    LEAT_ARGS_END,
};

static int check(struct leat_config *config, struct leat_error *err) {
    const struct csv *self = (const struct csv *)config;

    if (strlen(self->delimiter) != 1 || strchr("\r\n", self->delimiter[0]) ||
        (self->delimiter[0] & 0x80))
        return leat_config_error(config, "delimiter", err,
                                 "\"%.16s\" is not one byte that can stand between fields",
                                 self->delimiter);
    if (strlen(self->quote) > 1 || (self->quote[0] && strchr("\r\n", self->quote[0])) ||
        (self->quote[0] & 0x80))
        return leat_config_error(config, "quote", err, "\"%.16s\" is not one byte", self->quote);
    if (self->quote[0] == self->delimiter[0])
        return leat_config_error(config, "quote", err, "quote and delimiter are the same");
    if (!self->header && self->names.n_items == 0)
        return leat_config_error(config, "header", err, "a file without a header needs `names`");
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

/* ---- libcsv ---- */

static int is_no_space(unsigned char byte) {
    (void)byte;
    return 0;
}

/* libcsv ends a row at a CR too: records with a CR outside quotes are refused before it sees them,
 * which costs less than a function of ours that it calls for each byte. */
static int parser_init(struct csv_parser *parser, const struct csv *self) {
    if (csv_init(parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return -ENOMEM;
    csv_set_delim(parser, (unsigned char)self->delimiter[0]);
    csv_set_quote(parser, (unsigned char)self->quote[0]);
    csv_set_space_func(parser, is_no_space);
    csv_set_blk_size(parser, 4096);
    return 0;
}

/* ---- the header ---- */

struct header {
    char **names;
    size_t n_names;
    bool failed;
};

static void on_header_field(void *text, size_t n, void *user) {
    struct header *header = user;
    char **larger;

    if (header->failed || header->n_names > LEAT_FIELDS_MAX)
        return;
    larger = reallocarray(header->names, header->n_names + 1, sizeof(*larger));
    if (!larger) {
        header->failed = true;
        return;
    }
    header->names = larger;
    larger[header->n_names] = strndup(text, n);
    header->failed |= !larger[header->n_names];
    header->n_names++;
}

static void header_deinit(struct header *header) {
    for (size_t i = 0; i < header->n_names; i++)
        free(header->names[i]);
    free(header->names);
}

/* The first record: 0 and its extent, -EAGAIN if it is not whole. */
static int first_record(const struct csv *self, const uint8_t *head, size_t n_bytes, bool is_whole,
                        size_t *ret_start, size_t *ret_end, size_t *ret_next, uint64_t *ret_lines) {
    struct leat_cutter cutter_ = {.max_record_bytes = UINT32_MAX};
    size_t bom = leat_source_bom(head, n_bytes);
    struct leat_cut cut;
    uint32_t *starts, *ends;

    cutter(&self->source.base, &cutter_);
    cutter_.max_record_bytes = INT32_MAX;
    *ret_start = *ret_end = *ret_next = bom;
    *ret_lines = 0;
    leat_cutter_cut(&cutter_, head + bom, n_bytes - bom, is_whole, &cut);
    if (cut.n_records == 0)
        return is_whole ? 0 : -EAGAIN;
    starts = malloc(cut.n_records * sizeof(*starts));
    ends = malloc(cut.n_records * sizeof(*ends));
    if (!starts || !ends) {
        free(starts);
        free(ends);
        return -ENOMEM;
    }
    (void)leat_cutter_index(&cutter_, head + bom, cut.n_bytes, starts, ends, cut.n_records);
    *ret_start = bom + starts[0];
    *ret_end = bom + ends[0];
    *ret_next = *ret_end;
    while (*ret_next < n_bytes && head[*ret_next] != '\n')
        (*ret_next)++;
    *ret_next += *ret_next < n_bytes;
    for (size_t i = 0; i < *ret_next; i++)
        *ret_lines += head[i] == '\n';
    free(starts);
    free(ends);
    return 0;
}

static int read_header(const struct csv *self, const uint8_t *record, size_t n_bytes,
                       const char *file, struct header *ret_header, struct leat_error *err) {
    struct leat_cutter cutter_;
    struct csv_parser parser;
    uint32_t line, column;
    const char *wrong;
    int r = 0;

    cutter(&self->source.base, &cutter_);
    cutter_.max_record_bytes = INT32_MAX;
    wrong = leat_cutter_check(&cutter_, record, n_bytes, &line, &column);
    if (wrong) {
        r = leat_error_set(err, -EINVAL, "the header %s", wrong);
        leat_error_locate(err, file, line + 1, column);
        return r;
    }
    if (!leat_json_is_utf8(record, n_bytes)) {
        leat_error_set(err, -EINVAL, "the header is not UTF-8");
        leat_error_locate(err, file, 1, 0);
        return -EINVAL;
    }
    if (parser_init(&parser, self) < 0)
        return leat_error_oom(err);
    if (csv_parse(&parser, record, n_bytes, on_header_field, NULL, ret_header) != n_bytes ||
        csv_parse(&parser, "\n", 1, on_header_field, NULL, ret_header) != 1)
        r = leat_error_set(err, -EINVAL, "the header is not CSV: a quote stands where none may be");
    csv_free(&parser);
    if (ret_header->failed)
        return leat_error_oom(err);
    if (r == 0 && ret_header->n_names > LEAT_FIELDS_MAX)
        r = leat_error_set(err, -EINVAL, "the header has more than %d fields", LEAT_FIELDS_MAX);
    if (r < 0)
        leat_error_locate(err, file, 1, 0);
    return r;
}

static int declare(struct csv *self, char *const *names, size_t n_names, const char *file,
                   struct leat_planner *planner, struct leat_error *err) {
    for (size_t i = 0; i < n_names; i++) {
        uint32_t column;
        int r;

        for (size_t k = 0; k < i; k++)
            if (strcmp(names[k], names[i]) == 0)
                return leat_error_set(
                    err, -EINVAL,
                    "%s: fields %zu and %zu have the same name \"%.64s\"; give others with `names`",
                    file, k + 1, i + 1, names[i]);
        if (!names[i][0])
            return leat_error_set(err, -EINVAL,
                                  "%s: field %zu has no name; give all of them with `names`", file,
                                  i + 1);
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
    r = first_record(self, head, n_bytes, is_whole, &start, &end, &next, &lines);
    if (r < 0)
        return r;
    if (start == end)
        return leat_error_set(
            err, -EINVAL, "%s: is empty: a header with the names of the fields was expected", file);
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
        return leat_config_error(config, "names", err, "%zu names for %zu fields of %s",
                                 self->names.n_items, self->n_columns, file);
    return declare(self, self->names.items, self->n_columns, file, planner, err);
}

static int compare_header(const struct csv *self, const struct header *header, const char *file,
                          struct leat_error *err) {
    if (header->n_names != self->n_columns)
        leat_error_set(err, -EINVAL, "the header has %zu fields, that of %s has %zu",
                       header->n_names, self->source.files.paths[0], self->n_columns);
    for (size_t i = 0; i < header->n_names && i < self->n_columns; i++)
        if (strcmp(header->names[i], self->columns[i]) != 0)
            leat_error_set(err, -EINVAL, "field %zu is \"%.64s\" here and \"%.64s\" in %s", i + 1,
                           header->names[i], self->columns[i], self->source.files.paths[0]);
    if (!err->code)
        return 0;
    leat_error_locate(err, file, 1, 0);
    return -EINVAL;
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
    r = first_record(self, head, n_bytes, is_whole, &start, &end, ret_skip, ret_lines);
    if (r < 0 || start == end)
        return r;
    r = read_header(self, head + start, end - start, file, &header, err);
    if (r == 0)
        r = compare_header(self, &header, file, err);
    header_deinit(&header);
    return r;
}

/* ---- records ---- */

/* Where libcsv's fields go. Owner: the job. */
struct row {
    struct leat_column **columns; /* [n_columns]; NULL: not needed */
    uint8_t *text;
    uint32_t n_text;
    uint32_t n_columns, n_fields, row;
    bool is_whole;
    bool is_utf8; /* all of the block */
};

static void on_field(void *text, size_t n, void *user) {
    struct row *row = user;

    if (row->n_fields < row->n_columns && row->columns[row->n_fields]) {
        struct leat_column *column = row->columns[row->n_fields];

        memcpy(row->text + row->n_text, text, n);
        column->starts[row->row] = row->n_text;
        column->lengths[row->row] = (uint32_t)n;
        row->n_text += (uint32_t)n;
    }
    row->n_fields++;
}

/* longest: of a field, for each byte of its source. */
static int make_columns(const struct csv *self, struct leat_map *map, size_t longest,
                        struct row *ret_row) {
    struct leat_arena *arena = map->scratch;

    ret_row->n_columns = (uint32_t)self->n_columns;
    ret_row->columns =
        leat_arena_alloc(map->scratch, self->n_columns * sizeof(struct leat_column *));
    if (!ret_row->columns)
        return -ENOMEM;
    for (uint32_t i = 0; i < self->n_columns; i++) {
        uint32_t column = self->first_column + i;

        ret_row->columns[i] = map->is_needed[column] ? leat_map_column(map, column) : NULL;
        if (ret_row->columns[i] && leat_map_make_views(map, column) < 0)
            return -ENOMEM;
        if (map->is_needed[column] && map->is_kept[column])
            arena = &map->block->kept;
    }
    /* fields are never longer than the source; the slack is for copies of 16 bytes */
    ret_row->text = leat_arena_alloc(arena, longest * map->block->n_source_bytes + 16);
    for (uint32_t i = 0; ret_row->text && i < self->n_columns; i++)
        if (ret_row->columns[i])
            ret_row->columns[i]->values = ret_row->text;
    return ret_row->text ? 0 : -ENOMEM;
}

static void clear_row(struct row *row) {
    for (uint32_t i = 0; i < row->n_columns; i++)
        if (row->columns[i])
            row->columns[i]->starts[row->row] = row->columns[i]->lengths[row->row] = 0;
}

/* Files without quoting need no automaton: a record is its fields with delimiters between them. */
static bool split(const struct csv *self, const uint8_t *record, size_t n, struct row *row) {
    const uint8_t *at = record, *end = record + n, *next;

    while ((next = memchr(at, self->delimiter[0], (size_t)(end - at)))) {
        on_field((void *)(uintptr_t)at, (size_t)(next - at), row);
        at = next + 1;
    }
    on_field((void *)(uintptr_t)at, (size_t)(end - at), row);
    return true;
}

static void on_row(int end, void *user) {
    (void)end;
    ((struct row *)user)->is_whole = true;
}

/* libcsv is strict: it stops at a quote that stands where none may. has_end: behind the record is
 * its line end, of which libcsv gets the first byte, CR or LF. */
static bool parse_fields(struct csv_parser *parser, const uint8_t *record, size_t n, bool has_end,
                         struct row *row) {
    row->is_whole = false;
    if (csv_parse(parser, record, n + has_end, on_field, on_row, row) != n + has_end)
        return false;
    if (!has_end && csv_parse(parser, "\n", 1, on_field, on_row, row) != 1)
        return false;
    return row->is_whole;
}

static bool is_suspect(const struct leat_map *map, const uint8_t *record, size_t n,
                       bool has_returns) {
    return n >= map->cutter->max_record_bytes || (has_returns && memchr(record, '\r', n));
}

static bool reject_quoting(struct leat_map *map, uint32_t row, const uint8_t *record, size_t n) {
    uint32_t line = 0, column = 0;
    const char *wrong = leat_cutter_check(map->cutter, record, n, &line, &column);

    if (wrong)
        leat_map_reject_at(map, row, line, column, "the record %s", wrong);
    return wrong != NULL;
}

/* What is mended stands alone: no line end is behind it. */
static int mend(const struct csv *self, struct leat_map *map, uint32_t row,
                struct leat_source_record *record, bool *has_end) {
    const uint8_t *before = record->bytes;
    int r = leat_source_mend(&self->source, map, row, record);

    *has_end &= record->bytes == before;
    map->is_out_of_memory |= r == -ENOMEM;
    return r;
}

/* Fields of one record; false: it is bad. */
static bool parse_record(const struct csv *self, struct csv_parser *parser, struct leat_map *map,
                         bool has_returns, struct row *row) {
    struct leat_source_record record = leat_source_record(map, row->row);
    uint32_t n_text = row->n_text;
    bool is_good, has_end = record.n_readable > record.n_bytes;
    int r = 0;

    row->n_fields = 0;
    if (is_suspect(map, record.bytes, record.n_bytes, has_returns) &&
        reject_quoting(map, row->row, record.bytes, record.n_bytes))
        return false;
    if (!row->is_utf8)
        r = mend(self, map, row->row, &record, &has_end);
    if (r < 0)
        return false;
    is_good = self->quote[0] ? parse_fields(parser, record.bytes, record.n_bytes, has_end, row)
                             : split(self, record.bytes, record.n_bytes, row);
    if (is_good && row->n_fields == row->n_columns &&
        (map->max_fields == 0 || row->n_fields <= map->max_fields))
        return true;
    row->n_text = n_text;
    if (is_good && map->max_fields && row->n_fields > map->max_fields)
        leat_map_reject_at(map, row->row, 0, 0,
                           "the record has %u fields, more than max_fields (%llu)", row->n_fields,
                           (unsigned long long)map->max_fields);
    else if (is_good)
        leat_map_reject_at(map, row->row, 0, 0, "the record has %u fields, %u were expected",
                           row->n_fields, row->n_columns);
    else if (!reject_quoting(map, row->row, record.bytes, record.n_bytes))
        leat_map_reject_at(map, row->row, 0, 0, "the record is not CSV");
    return false;
}

static int parse(const struct leat_config *config, struct leat_map *map, struct leat_error *err) {
    const struct csv *self = (const struct csv *)config;
    bool has_returns = memchr(map->block->source, '\r', map->block->n_source_bytes) != NULL;
    struct csv_parser parser;
    struct row row = {.is_utf8 = leat_source_is_utf8(map)};

    if (make_columns(self, map, row.is_utf8 ? 1 : LEAT_SOURCE_MENDED_MAX, &row) < 0 ||
        parser_init(&parser, self) < 0)
        return leat_error_oom(err);
    for (; row.row < map->block->n_rows; row.row++) {
        if (parse_record(self, &parser, map, has_returns, &row))
            continue;
        clear_row(&row);
        csv_free(&parser);
        if (parser_init(&parser, self) < 0)
            return leat_error_oom(err);
    }
    csv_free(&parser);
    return 0;
}

const struct leat_stage_ops leat_source_csv = {
    .name = "csv",
    .summary = "records of CSV files (RFC 4180); every field is text",
    .example = "{ paths: [train-*.csv] }",
    .kind = LEAT_STAGE_SOURCE,
    .args = args,
    .config_size = sizeof(struct csv),
    .check = check,
    .load = leat_source_load,
    .unload = unload,
    .probe = probe,
    .cutter = cutter,
    .begin_file = begin_file,
    .parse = parse,
};
