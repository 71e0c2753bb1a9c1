/* page.c: see page.h. Field numbers are those of parquet.thrift. */
#include "pipeline/sources/parquet/page.h"

#include <errno.h>

#include "pipeline/sources/parquet/thrift.h"

enum {
    PAGE_KIND = 1,
    PAGE_PLAIN = 2,
    PAGE_STORED = 3,
    PAGE_DATA = 5,
    PAGE_DICTIONARY = 7,
    PAGE_DATA_V2 = 8,
};
enum { DATA_VALUES = 1, DATA_ENCODING = 2, DATA_DEFINITION = 3, DATA_REPETITION = 4 };
enum { DICTIONARY_VALUES = 1, DICTIONARY_ENCODING = 2 };
enum {
    V2_VALUES = 1,
    V2_ENCODING = 4,
    V2_DEFINITION = 5,
    V2_REPETITION = 6,
    V2_COMPRESSED = 7,
};

/* A size; what is negative marks the reader as bad by a size that no file has. */
static uint64_t size_of(struct leat_thrift *thrift, const struct leat_thrift_field *field) {
    int64_t value = leat_thrift_int(thrift, field);

    return value < 0 ? UINT64_MAX : (uint64_t)value;
}

static void read_data(struct leat_thrift *thrift, struct leat_parquet_page *page) {
    struct leat_thrift_field field = {0};

    while (leat_thrift_next(thrift, &field)) {
        switch (field.id) {
        case DATA_VALUES:
            page->n_values = size_of(thrift, &field);
            break;
        case DATA_ENCODING:
            page->encoding = leat_thrift_int(thrift, &field);
            break;
        case DATA_DEFINITION:
            page->definition_encoding = leat_thrift_int(thrift, &field);
            break;
        case DATA_REPETITION:
            page->repetition_encoding = leat_thrift_int(thrift, &field);
            break;
        default:
            leat_thrift_skip(thrift, &field);
        }
    }
}

static void read_dictionary(struct leat_thrift *thrift, struct leat_parquet_page *page) {
    struct leat_thrift_field field = {0};

    while (leat_thrift_next(thrift, &field)) {
        if (field.id == DICTIONARY_VALUES)
            page->n_values = size_of(thrift, &field);
        else if (field.id == DICTIONARY_ENCODING)
            page->encoding = leat_thrift_int(thrift, &field);
        else
            leat_thrift_skip(thrift, &field);
    }
}

static void read_data_v2(struct leat_thrift *thrift, struct leat_parquet_page *page) {
    struct leat_thrift_field field = {0};

    while (leat_thrift_next(thrift, &field)) {
        switch (field.id) {
        case V2_VALUES:
            page->n_values = size_of(thrift, &field);
            break;
        case V2_ENCODING:
            page->encoding = leat_thrift_int(thrift, &field);
            break;
        case V2_DEFINITION:
            page->n_definition = size_of(thrift, &field);
            break;
        case V2_REPETITION:
            page->n_repetition = size_of(thrift, &field);
            break;
        case V2_COMPRESSED:
            page->is_compressed = leat_thrift_bool(thrift, &field);
            break;
        default:
            leat_thrift_skip(thrift, &field);
        }
    }
}

static void read_kind(struct leat_thrift *thrift, const struct leat_thrift_field *field,
                      struct leat_parquet_page *page) {
    if (!leat_thrift_is_struct(thrift, field))
        return;
    if (field->id == PAGE_DATA)
        read_data(thrift, page);
    else if (field->id == PAGE_DICTIONARY)
        read_dictionary(thrift, page);
    else
        read_data_v2(thrift, page);
}

int leat_parquet_page_parse(const uint8_t *bytes, size_t n_bytes,
                            struct leat_parquet_page *ret_page) {
    struct leat_thrift thrift = {.at = bytes, .end = bytes + n_bytes};
    struct leat_thrift_field field = {0};

    *ret_page = (struct leat_parquet_page){.kind = -1,
                                           .encoding = -1,
                                           .definition_encoding = LEAT_PARQUET_ENCODING_RLE,
                                           .repetition_encoding = LEAT_PARQUET_ENCODING_RLE,
                                           .n_stored = UINT64_MAX,
                                           .n_plain = UINT64_MAX,
                                           .is_compressed = true};
    while (leat_thrift_next(&thrift, &field)) {
        switch (field.id) {
        case PAGE_KIND:
            ret_page->kind = leat_thrift_int(&thrift, &field);
            break;
        case PAGE_PLAIN:
            ret_page->n_plain = size_of(&thrift, &field);
            break;
        case PAGE_STORED:
            ret_page->n_stored = size_of(&thrift, &field);
            break;
        case PAGE_DATA:
        case PAGE_DICTIONARY:
        case PAGE_DATA_V2:
            read_kind(&thrift, &field, ret_page);
            break;
        default:
            leat_thrift_skip(&thrift, &field);
        }
    }
    if (thrift.is_bad)
        return thrift.is_short ? -EAGAIN : -EBADMSG;
    ret_page->n_header = (uint64_t)(thrift.at - bytes);
    return ret_page->kind < 0 || ret_page->n_stored > INT32_MAX || ret_page->n_plain > INT32_MAX ||
                   ret_page->n_values > INT32_MAX
               ? -EBADMSG
               : 0;
}
