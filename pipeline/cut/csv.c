/* cut/csv.c: see cut/csv.h.
 *
 * libcsv gathers the bytes of each field in a buffer that it grows. Here it is fed in pieces that
 * fit into a buffer of the thread's, which is emptied behind each piece: nothing is allocated, so
 * nothing can fail. Where a field stands follows from its length and from the quotes in it.
 */
#include "pipeline/cut/csv.h"

#include <string.h>

#define PIECE_BYTES 4096

static _Thread_local unsigned char entry[PIECE_BYTES + 2]; /* bytes of the field, of this piece */

static void *use_entry(void *old, size_t size) {
    (void)old;
    return size <= sizeof(entry) ? entry : NULL;
}

static void keep_entry(void *old) {
    (void)old;
}

static int is_none(unsigned char byte) {
    (void)byte;
    return 0;
}

static int is_lf(unsigned char byte) {
    return byte == '\n';
}

static void begin_parser(struct csv_parser *parser, const struct leat_cutter *cutter,
                         int (*is_end_of_row)(unsigned char)) {
    (void)csv_init(parser, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_delim(parser, cutter->delimiter);
    csv_set_quote(parser, cutter->quote);
    csv_set_space_func(parser, is_none);
    csv_set_term_func(parser, is_end_of_row);
    csv_set_realloc_func(parser, use_entry);
    csv_set_free_func(parser, keep_entry);
    csv_set_blk_size(parser, sizeof(entry));
}

/* csv_fini() fails for a field whose quotes are open. */
static bool is_open(const struct csv_parser *parser) {
    struct csv_parser copy = *parser;

    return csv_fini(&copy, NULL, NULL, NULL) != 0;
}

/* Forgets what is in the buffer, but for a quote that may be the last byte of the field: the next
 * byte decides. Returns how many bytes were forgotten. */
static size_t empty_entry(struct csv_parser *parser) {
    bool may_have_ended = parser->quoted && !is_open(parser);
    size_t n = parser->entry_pos - may_have_ended;

    parser->entry_pos = may_have_ended;
    return n;
}

/* ---- where a record ends ---- */

static void on_row(int byte, void *user) {
    struct leat_cutter_csv *csv = user;

    (void)byte;
    csv->has_ended = true;
}

void leat_cutter_csv_begin(struct leat_cutter_csv *csv, const struct leat_cutter *cutter) {
    *csv = (struct leat_cutter_csv){.delimiter = cutter->delimiter};
    begin_parser(&csv->parser, cutter, is_lf);
}

/* Behind a fault the field ends at the next delimiter, and the next field begins anew. */
static size_t skip_fault(struct leat_cutter_csv *csv, const uint8_t *line, size_t n_bytes) {
    const uint8_t *delimiter = memchr(line, csv->delimiter, n_bytes);

    if (!delimiter) {
        csv->has_ended = line[n_bytes - 1] == '\n';
        return n_bytes;
    }
    csv->is_faulty = false;
    csv->parser.quoted = 0; /* else the end of an open field is one more fault */
    (void)csv_fini(&csv->parser, NULL, NULL, NULL);
    return (size_t)(delimiter - line);
}

bool leat_cutter_csv_line(struct leat_cutter_csv *csv, const uint8_t *line, size_t n_bytes) {
    size_t at = 0, n, n_good;

    while (at < n_bytes && !csv->has_ended) {
        if (csv->is_faulty) {
            at += skip_fault(csv, line + at, n_bytes - at);
            continue;
        }
        n = n_bytes - at < PIECE_BYTES ? n_bytes - at : PIECE_BYTES;
        n_good = csv_parse(&csv->parser, line + at, n, NULL, on_row, csv);
        (void)empty_entry(&csv->parser);
        csv->is_faulty = n_good < n;
        at += n_good;
    }
    return csv->has_ended;
}

bool leat_cutter_csv_is_open(const struct leat_cutter_csv *csv) {
    return !csv->is_faulty && is_open(&csv->parser);
}

/* ---- its fields ---- */

struct split {
    const struct leat_cutter *cutter;
    const uint8_t *record;
    size_t n_bytes;
    struct leat_cutter_field *fields;
    uint32_t capacity, n_fields;
    size_t start;     /* of the field under way */
    size_t n_carried; /* bytes of it that were forgotten */
};

static void on_field(void *text, size_t n_bytes, void *user) {
    struct split *split = user;
    const struct leat_cutter *cutter = split->cutter;
    const uint8_t *field = split->record + split->start;
    size_t n = split->n_carried + n_bytes, n_doubled = 0;
    bool is_quoted = cutter->quote && split->start < split->n_bytes && *field == cutter->quote;

    (void)text;
    for (size_t i = 1; is_quoted && i <= n + n_doubled; i++)
        if (field[i] == cutter->quote) { /* two stand for one */
            n_doubled++;
            i++;
        }
    if (split->n_fields < split->capacity)
        split->fields[split->n_fields] = (struct leat_cutter_field){
            .start = (uint32_t)(split->start + is_quoted),
            .end = (uint32_t)(split->start + is_quoted + n + n_doubled),
            .has_doubled = n_doubled > 0,
        };
    split->n_fields++;
    split->start += n + n_doubled + 2U * is_quoted + 1;
    split->n_carried = 0;
}

/* Splits from *at up to `end`. False: RFC 4180 does not allow what stands at *at. */
static bool split_up_to(struct split *split, struct csv_parser *parser, size_t *at, size_t end) {
    while (*at < end) {
        size_t n = end - *at < PIECE_BYTES ? end - *at : PIECE_BYTES;
        size_t n_good = csv_parse(parser, split->record + *at, n, on_field, NULL, split);

        *at += n_good;
        if (n_good < n)
            return false;
        split->n_carried += empty_entry(parser);
    }
    return true;
}

static bool split_quoted(struct split *split) {
    struct csv_parser parser;
    size_t at = 0;

    begin_parser(&parser, split->cutter, is_none);
    return split_up_to(split, &parser, &at, split->n_bytes) &&
           csv_fini(&parser, on_field, NULL, split) == 0;
}

/* Without quotes a record is its fields with delimiters between them, which libcsv has no word for.
 */
static bool split_plain(struct split *split) {
    const uint8_t *delimiter;

    do {
        size_t n = split->n_bytes - split->start;

        delimiter = n ? memchr(split->record + split->start, split->cutter->delimiter, n) : NULL;
        on_field(NULL, delimiter ? (size_t)(delimiter - split->record) - split->start : n, split);
    } while (delimiter);
    return true;
}

bool leat_cutter_csv_split(const struct leat_cutter *cutter, const uint8_t *record, size_t n_bytes,
                           struct leat_cutter_field *fields, uint32_t capacity,
                           uint32_t *ret_n_fields) {
    struct split split = {.cutter = cutter,
                          .record = record,
                          .n_bytes = n_bytes,
                          .fields = fields,
                          .capacity = capacity};
    bool is_good = cutter->quote && n_bytes > 0 ? split_quoted(&split) : split_plain(&split);

    *ret_n_fields = split.n_fields;
    return is_good;
}

/* ---- what is wrong with it ---- */

/* Checks up to the end; no CR may stand outside quotes. */
static bool check_up_to_end(struct split *split, struct csv_parser *parser, size_t *at) {
    const uint8_t *cr;

    while ((cr = memchr(split->record + *at, '\r', split->n_bytes - *at))) {
        if (!split_up_to(split, parser, at, (size_t)(cr - split->record)))
            return false;
        if (!is_open(parser))
            return false;
        (void)split_up_to(split, parser, at, *at + 1);
    }
    return split_up_to(split, parser, at, split->n_bytes);
}

const char *leat_cutter_csv_check(const struct leat_cutter *cutter, const uint8_t *record,
                                  size_t n_bytes, size_t *ret_at) {
    static const char return_fault[] =
        "has a carriage return outside quotes without a line feed: end lines with LF or CR LF";
    struct split split = {.cutter = cutter, .record = record, .n_bytes = n_bytes};
    const uint8_t *cr = memchr(record, '\r', n_bytes);
    struct csv_parser parser;

    if (!cutter->quote) {
        *ret_at = cr ? (size_t)(cr - record) : 0;
        return cr ? return_fault : NULL;
    }
    begin_parser(&parser, cutter, is_none);
    *ret_at = 0;
    if (!check_up_to_end(&split, &parser, ret_at)) {
        if (record[*ret_at] == '\r')
            return return_fault;
        if (record[*ret_at] == cutter->quote)
            return "has a quote within an unquoted field: quote the whole field, and double the "
                   "quote";
        return "has text after a closing quote: double each quote within a quoted field";
    }
    if (!is_open(&parser))
        return NULL;
    *ret_at = split.start;
    return "opens a quote here, but no closing quote follows within max_record_bytes";
}
