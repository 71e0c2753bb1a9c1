/* footer.c: see footer.h. Field numbers are those of parquet.thrift. */
#include "pipeline/sources/parquet/footer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/array.h"

#define MAGIC       "PAR1"
#define MAGIC_BYTES 4U
#define TAIL_BYTES  (sizeof(uint32_t) + MAGIC_BYTES)

enum { FILE_SCHEMA = 2, FILE_GROUPS = 4 };
enum { GROUP_COLUMNS = 1, GROUP_ROWS = 3 };
enum { CHUNK_FILE = 1, CHUNK_META = 3, CHUNK_CRYPTO = 8, CHUNK_ENCRYPTED = 9 };
enum {
    META_TYPE = 1,
    META_CODEC = 4,
    META_VALUES = 5,
    META_COMPRESSED = 7,
    META_DATA_PAGE = 9,
    META_DICTIONARY_PAGE = 11,
};

static int fault(struct leat_error *err, const char *message) {
    return leat_error_set(err, -EBADMSG, "the footer is damaged: %s", message);
}

/* ---- row groups ---- */

static int64_t read_group_rows(struct leat_thrift *thrift) {
    struct leat_thrift_field field = {0};
    int64_t n_rows = -1;

    while (leat_thrift_next(thrift, &field))
        if (field.id == GROUP_ROWS)
            n_rows = leat_thrift_int(thrift, &field);
        else
            leat_thrift_skip(thrift, &field);
    return n_rows;
}

static int add_group(struct leat_parquet_footer *footer, struct leat_thrift *thrift,
                     struct leat_error *err) {
    size_t at = (size_t)(thrift->at - footer->bytes);
    int64_t n_rows = read_group_rows(thrift);

    if (n_rows < 0 || thrift->is_bad)
        return fault(err, "a row group lacks its number of rows");
    if ((uint64_t)n_rows > LEAT_PARQUET_ROWS_MAX - footer->n_rows)
        return leat_error_set(err, -EBADMSG,
                              "the file has more than %d rows: split it into several files",
                              LEAT_PARQUET_ROWS_MAX);
    if (!leat_array_reserve(&footer->groups, footer->n_groups + 1, &footer->capacity))
        return leat_error_oom(err);
    footer->groups[footer->n_groups] = (struct leat_parquet_group){
        .first_row = (uint32_t)footer->n_rows, .n_rows = (uint32_t)n_rows, .at = at};
    footer->n_groups += n_rows > 0;
    footer->n_rows += (uint64_t)n_rows;
    return 0;
}

static int parse(struct leat_parquet_footer *footer, struct leat_error *err) {
    struct leat_thrift thrift = {.at = footer->bytes, .end = footer->bytes + footer->n_bytes};
    struct leat_thrift_field field = {0};
    uint32_t n_groups = 0;
    int r = 0;

    while (r == 0 && leat_thrift_next(&thrift, &field)) {
        switch (field.id) {
        case FILE_SCHEMA:
            r = footer->schema.fields
                    ? fault(err, "it has two schemas")
                    : leat_parquet_schema_parse(&thrift, &field, &footer->schema, err);
            break;
        case FILE_GROUPS:
            n_groups = leat_thrift_structs(&thrift, &field);
            for (uint32_t i = 0; r == 0 && i < n_groups; i++)
                r = add_group(footer, &thrift, err);
            break;
        default:
            leat_thrift_skip(&thrift, &field);
        }
    }
    if (r == 0 && thrift.is_bad)
        r = fault(err, "it ends too early, or is not valid Thrift");
    if (r == 0 && !footer->schema.fields)
        r = fault(err, "it has no schema");
    return r;
}

/* ---- the file ---- */

static int no_parquet(const uint8_t *head, struct leat_error *err) {
    return leat_error_set(
        err, -EBADMSG,
        "is not a Parquet file: it must begin with \"PAR1\", but begins with %02x %02x %02x %02x",
        head[0], head[1], head[2], head[3]);
}

static int read_tail(struct leat_parquet_footer *footer, struct leat_input *file,
                     uint64_t max_bytes, struct leat_error *err) {
    uint8_t head[MAGIC_BYTES], tail[TAIL_BYTES];
    uint64_t n_file = footer->file_bytes;
    uint32_t n_bytes;
    int r;

    if (n_file < MAGIC_BYTES + TAIL_BYTES)
        return leat_error_set(err, -EBADMSG, "is not a Parquet file: it has only %llu bytes",
                              (unsigned long long)n_file);
    r = leat_input_read_at(file, 0, head, sizeof(head), err);
    if (r == 0)
        r = leat_input_read_at(file, n_file - TAIL_BYTES, tail, sizeof(tail), err);
    if (r < 0)
        return r;
    memcpy(&n_bytes, tail, sizeof(n_bytes));
    if (memcmp(head, "PARE", MAGIC_BYTES) == 0 || memcmp(tail + 4, "PARE", MAGIC_BYTES) == 0)
        return leat_error_set(
            err, -EINVAL,
            "is an encrypted Parquet file, which leat does not read: decrypt it first");
    if (memcmp(head, MAGIC, MAGIC_BYTES) != 0)
        return no_parquet(head, err);
    if (memcmp(tail + sizeof(n_bytes), MAGIC, MAGIC_BYTES) != 0)
        return leat_error_set(err, -EBADMSG, "is a truncated Parquet file: its footer is missing");
    if (n_bytes > n_file - MAGIC_BYTES - TAIL_BYTES)
        return fault(err, "its footer is longer than the file");
    if (n_bytes > max_bytes)
        return leat_error_set(
            err, -EBADMSG,
            "the footer has %u bytes, more than max_window_bytes (%llu): raise max_window_bytes",
            n_bytes, (unsigned long long)max_bytes);
    footer->bytes = malloc((size_t)n_bytes + 1);
    footer->n_bytes = n_bytes;
    return footer->bytes ? leat_input_read_at(file, n_file - TAIL_BYTES - n_bytes, footer->bytes,
                                              n_bytes, err)
                         : leat_error_oom(err);
}

int leat_parquet_footer_read(struct leat_parquet_footer *footer, struct leat_input *file,
                             uint64_t max_bytes, struct leat_error *err) {
    int r;

    *footer = (struct leat_parquet_footer){.file_bytes = leat_input_file_bytes(file)};
    r = read_tail(footer, file, max_bytes, err);
    if (r == 0)
        r = parse(footer, err);
    if (r < 0)
        leat_parquet_footer_deinit(footer);
    return r;
}

void leat_parquet_footer_deinit(struct leat_parquet_footer *footer) {
    leat_parquet_schema_deinit(&footer->schema);
    free(footer->groups);
    free(footer->bytes);
    *footer = (struct leat_parquet_footer){.bytes = NULL};
}

uint32_t leat_parquet_footer_find(const struct leat_parquet_footer *footer, uint64_t row) {
    uint32_t low = 0, high = footer->n_groups;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (footer->groups[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- chunks ---- */

static void read_meta(struct leat_thrift *thrift, const struct leat_thrift_field *meta,
                      uint64_t file_bytes, struct leat_parquet_chunk *chunk) {
    int64_t type = -1, codec = -1, n_values = -1, n_bytes = -1, data = -1, dictionary = -1;
    struct leat_thrift_field field = {0};

    if (!leat_thrift_is_struct(thrift, meta))
        return;
    while (leat_thrift_next(thrift, &field)) {
        int64_t *value = field.id == META_TYPE              ? &type
                         : field.id == META_CODEC           ? &codec
                         : field.id == META_VALUES          ? &n_values
                         : field.id == META_COMPRESSED      ? &n_bytes
                         : field.id == META_DATA_PAGE       ? &data
                         : field.id == META_DICTIONARY_PAGE ? &dictionary
                                                            : NULL;

        if (value)
            *value = leat_thrift_int(thrift, &field);
        else
            leat_thrift_skip(thrift, &field);
    }
    if (type < 0 || type >= LEAT_PARQUET_N_TYPES || codec < 0 || codec >= LEAT_PARQUET_N_CODECS ||
        n_values < 0 || n_bytes < 0 || data < 0)
        return;
    chunk->type = (enum leat_parquet_type)type;
    chunk->codec = (enum leat_parquet_codec)codec;
    chunk->n_values = (uint64_t)n_values;
    chunk->at = (uint64_t)(dictionary > 0 && dictionary < data ? dictionary : data);
    chunk->end = chunk->at + (uint64_t)n_bytes;
    chunk->is_there = chunk->end >= chunk->at && chunk->end <= file_bytes;
}

static void read_chunk(struct leat_thrift *thrift, uint64_t file_bytes,
                       struct leat_parquet_chunk *chunk) {
    struct leat_thrift_field field = {0};
    size_t n;

    *chunk = (struct leat_parquet_chunk){.at = 0};
    while (leat_thrift_next(thrift, &field)) {
        switch (field.id) {
        case CHUNK_FILE:
            (void)leat_thrift_binary(thrift, &field, &n);
            chunk->is_elsewhere = n > 0;
            break;
        case CHUNK_META:
            read_meta(thrift, &field, file_bytes, chunk);
            break;
        case CHUNK_CRYPTO:
        case CHUNK_ENCRYPTED:
            chunk->is_encrypted = true;
            leat_thrift_skip(thrift, &field);
            break;
        default:
            leat_thrift_skip(thrift, &field);
        }
    }
}

int leat_parquet_footer_chunks(const struct leat_parquet_footer *footer, uint32_t group,
                               struct leat_parquet_chunk *chunks, struct leat_error *err) {
    struct leat_thrift thrift = {.at = footer->bytes + footer->groups[group].at,
                                 .end = footer->bytes + footer->n_bytes};
    struct leat_thrift_field field = {0};
    uint32_t n = 0;

    while (leat_thrift_next(&thrift, &field)) {
        if (field.id != GROUP_COLUMNS) {
            leat_thrift_skip(&thrift, &field);
            continue;
        }
        n = leat_thrift_structs(&thrift, &field);
        if (n != footer->schema.n_leaves)
            return fault(err, "a row group has more or fewer columns than the schema");
        for (uint32_t i = 0; i < n; i++)
            read_chunk(&thrift, footer->file_bytes, &chunks[i]);
    }
    return n > 0 && !thrift.is_bad ? 0 : fault(err, "it has no columns");
}
