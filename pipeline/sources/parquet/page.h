/* page.h: the headers of pages (parquet.thrift, "PageHeader"). Pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum leat_parquet_page_kind {
    LEAT_PARQUET_DATA_PAGE,
    LEAT_PARQUET_INDEX_PAGE,
    LEAT_PARQUET_DICTIONARY_PAGE,
    LEAT_PARQUET_DATA_PAGE_V2,
};

enum leat_parquet_encoding {
    LEAT_PARQUET_ENCODING_PLAIN = 0,
    LEAT_PARQUET_ENCODING_PLAIN_DICTIONARY = 2,
    LEAT_PARQUET_ENCODING_RLE = 3,
    LEAT_PARQUET_ENCODING_DELTA = 5,
    LEAT_PARQUET_ENCODING_DELTA_LENGTH = 6,
    LEAT_PARQUET_ENCODING_DELTA_BYTES = 7,
    LEAT_PARQUET_ENCODING_DICTIONARY = 8,
    LEAT_PARQUET_ENCODING_SPLIT = 9,
};

struct leat_parquet_page {
    int64_t kind, encoding;
    int64_t definition_encoding, repetition_encoding; /* of a data page, version 1 */
    uint64_t n_header;                                /* bytes of the header */
    uint64_t n_stored, n_plain;                       /* of the page: in the file, decompressed */
    uint64_t n_values;                                /* also those that are null */
    /* version 2 */
    uint64_t n_definition, n_repetition; /* bytes of the levels */
    bool is_compressed;
};

/* -EAGAIN: it goes beyond the bytes. -EBADMSG. */
int leat_parquet_page_parse(const uint8_t *bytes, size_t n_bytes,
                            struct leat_parquet_page *ret_page);
