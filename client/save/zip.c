/* zip.c: see zip.h. The numbers of sections are those of APPNOTE.TXT. */
#include "client/save/zip.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#define STORED           0
#define DEFLATED         8
#define VERSION          20 /* needed to extract a deflated entry */
#define VERSION_64       45
#define UNIX             (3 << 8)
#define MODE             (UINT32_C(0100644) << 16)
#define UTF8             (1 << 11)
#define DATE             0x0021 /* 1980-01-01 */
#define EXTRA_64         0x0001
#define NOT_HERE         UINT32_C(0xffffffff) /* the number is in the extra field */
#define CHUNK            (UINT32_C(1) << 30)  /* zlib counts in 32 bits */
#define OUTPUT           16384
#define DEFLATE_WORST(n) ((n) + (n) / 1000 + 1024)

/* ---- little endian ---- */

static uint8_t *put_number(uint8_t *at, uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; i++)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static uint8_t *put_size(uint8_t *at, uint64_t value) {
    return put_number(at, value < NOT_HERE ? value : NOT_HERE, 4);
}

static uint8_t *put_name(uint8_t *at, const struct leat_zip_entry *entry) {
    size_t n = strlen(entry->name);

    memcpy(at, entry->name, n);
    return at + n;
}

/* ---- headers ---- */

/* The part that local and central headers share: version needed to CRC. */
static uint8_t *put_kind(uint8_t *at, const struct leat_zip_entry *entry, bool is_large) {
    bool is_ascii = true;

    for (const char *c = entry->name; *c; c++)
        is_ascii = is_ascii && !((uint8_t)*c & 0x80);
    at = put_number(at, is_large ? VERSION_64 : VERSION, 2);
    at = put_number(at, is_ascii ? 0 : UTF8, 2);
    at = put_number(at, entry->is_deflated ? DEFLATED : STORED, 2);
    at = put_number(at, 0, 2);
    at = put_number(at, DATE, 2);
    return put_number(at, entry->crc, 4);
}

/* 4.3.7; large entries have an extra field (4.5.3) with both sizes. */
size_t leat_zip_local(const struct leat_zip_entry *entry, uint8_t ret[LEAT_ZIP_HEADER_MAX]) {
    uint8_t *at = put_number(ret, 0x04034b50, 4);

    at = put_kind(at, entry, entry->is_large);
    at = entry->is_large ? put_number(at, NOT_HERE, 4) : put_number(at, entry->n_stored, 4);
    at = entry->is_large ? put_number(at, NOT_HERE, 4) : put_number(at, entry->n_bytes, 4);
    at = put_number(at, strlen(entry->name), 2);
    at = put_number(at, entry->is_large ? 20 : 0, 2);
    at = put_name(at, entry);
    if (entry->is_large) {
        at = put_number(at, EXTRA_64, 2);
        at = put_number(at, 16, 2);
        at = put_number(at, entry->n_bytes, 8);
        at = put_number(at, entry->n_stored, 8);
    }
    return (size_t)(at - ret);
}

/* 4.3.12; the extra field has the numbers that do not fit into 32 bits, in this order. */
size_t leat_zip_central(const struct leat_zip_entry *entry, uint8_t ret[LEAT_ZIP_HEADER_MAX]) {
    const uint64_t numbers[] = {entry->n_bytes, entry->n_stored, entry->offset};
    size_t n_large = 0;
    uint8_t *at = put_number(ret, 0x02014b50, 4);

    for (size_t i = 0; i < 3; i++)
        n_large += numbers[i] >= NOT_HERE;
    at = put_number(at, UNIX | VERSION_64, 2);
    at = put_kind(at, entry, entry->is_large || n_large > 0);
    at = put_size(at, entry->n_stored);
    at = put_size(at, entry->n_bytes);
    at = put_number(at, strlen(entry->name), 2);
    at = put_number(at, n_large > 0 ? 4 + 8 * n_large : 0, 2);
    at = put_number(at, 0, 6); /* no comment, on this disk, binary */
    at = put_number(at, MODE, 4);
    at = put_size(at, entry->offset);
    at = put_name(at, entry);
    if (n_large > 0) {
        at = put_number(at, EXTRA_64, 2);
        at = put_number(at, 8 * n_large, 2);
    }
    for (size_t i = 0; i < 3; i++)
        if (numbers[i] >= NOT_HERE)
            at = put_number(at, numbers[i], 8);
    return (size_t)(at - ret);
}

/* 4.3.14 and 4.3.15. */
static uint8_t *put_end_64(uint8_t *at, size_t n_entries, uint64_t offset, uint64_t n_bytes) {
    at = put_number(at, 0x06064b50, 4);
    at = put_number(at, 44, 8); /* bytes that follow */
    at = put_number(at, UNIX | VERSION_64, 2);
    at = put_number(at, VERSION_64, 2);
    at = put_number(at, 0, 8); /* one disk */
    at = put_number(at, n_entries, 8);
    at = put_number(at, n_entries, 8);
    at = put_number(at, n_bytes, 8);
    at = put_number(at, offset, 8);
    at = put_number(at, 0x07064b50, 4);
    at = put_number(at, 0, 4);
    at = put_number(at, offset + n_bytes, 8);
    return put_number(at, 1, 4);
}

/* 4.3.16 */
size_t leat_zip_end(size_t n_entries, uint64_t directory_offset, uint64_t directory_bytes,
                    uint8_t ret[LEAT_ZIP_END_MAX]) {
    uint8_t *at = ret;

    if (directory_offset >= NOT_HERE || directory_bytes >= NOT_HERE)
        at = put_end_64(at, n_entries, directory_offset, directory_bytes);
    at = put_number(at, 0x06054b50, 4);
    at = put_number(at, 0, 4);
    at = put_number(at, n_entries, 2);
    at = put_number(at, n_entries, 2);
    at = put_size(at, directory_bytes);
    at = put_size(at, directory_offset);
    at = put_number(at, 0, 2);
    return (size_t)(at - ret);
}

/* ---- contents ---- */

static uint32_t compute_checksum(const void *head, size_t n_head, const void *body, size_t n_body) {
    uLong crc = crc32_z(crc32_z(0, NULL, 0), head, n_head);

    return (uint32_t)crc32_z(crc, body, n_body);
}

/* Compresses n_bytes more; `flush` is zlib's. */
static void deflate_part(struct leat_zip *zip, z_stream *stream, const uint8_t *data,
                         size_t n_bytes, int flush) {
    uint8_t output[OUTPUT];

    do {
        uInt n = (uInt)(n_bytes < CHUNK ? n_bytes : CHUNK);

        stream->next_in = (Bytef *)(uintptr_t)data;
        stream->avail_in = n;
        data += n;
        n_bytes -= n;
        do {
            stream->next_out = output;
            stream->avail_out = sizeof(output);
            (void)deflate(stream, n_bytes == 0 ? flush : Z_NO_FLUSH); /* never fails with output */
            leat_saved_file_write(zip->file, output, sizeof(output) - stream->avail_out);
        } while (stream->avail_out == 0);
    } while (n_bytes > 0);
}

/* 4.4.5: raw deflate, without zlib's frame. */
static int deflate_all(struct leat_zip *zip, const void *head, size_t n_head, const void *body,
                       size_t n_body, struct leat_error *err) {
    z_stream stream = {.next_in = NULL};
    int r = deflateInit2(&stream, zip->compression, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);

    if (r == Z_MEM_ERROR)
        return leat_error_oom(err);
    assert(r == Z_OK);
    deflate_part(zip, &stream, head, n_head, Z_NO_FLUSH);
    deflate_part(zip, &stream, body, n_body, Z_FINISH);
    (void)deflateEnd(&stream);
    return 0;
}

/* ---- the archive ---- */

void leat_zip_init(struct leat_zip *zip, struct leat_saved_file *file, int compression) {
    zip->file = file;
    zip->compression = compression;
    zip->n_entries = 0;
}

static int put_contents(struct leat_zip *zip, struct leat_zip_entry *entry, const void *head,
                        size_t n_head, const void *body, size_t n_body, struct leat_error *err) {
    uint64_t begin = zip->file->n_bytes;
    int r = 0;

    if (entry->is_deflated) {
        r = deflate_all(zip, head, n_head, body, n_body, err);
    } else {
        leat_saved_file_write(zip->file, head, n_head);
        leat_saved_file_write(zip->file, body, n_body);
    }
    entry->n_stored = zip->file->n_bytes - begin;
    return r;
}

int leat_zip_add(struct leat_zip *zip, const char *name, const void *head, size_t n_head,
                 const void *body, size_t n_body, struct leat_error *err) {
    struct leat_zip_entry *entry = &zip->entries[zip->n_entries];
    uint8_t header[LEAT_ZIP_HEADER_MAX];
    size_t n_header;
    int r;

    assert(zip->n_entries < LEAT_ZIP_MAX_ENTRIES && strlen(name) < sizeof(entry->name));
    *entry = (struct leat_zip_entry){
        .n_bytes = n_head + n_body,
        .n_stored = n_head + n_body,
        .offset = zip->file->n_bytes,
        .crc = compute_checksum(head, n_head, body, n_body),
        .is_deflated = zip->compression > 0,
        .is_large = DEFLATE_WORST(n_head + n_body) >= NOT_HERE,
    };
    memcpy(entry->name, name, strlen(name) + 1);
    zip->n_entries++;
    n_header = leat_zip_local(entry, header);
    leat_saved_file_write(zip->file, header, n_header);
    r = put_contents(zip, entry, head, n_head, body, n_body, err);
    if (r < 0 || !entry->is_deflated)
        return r;
    n_header = leat_zip_local(entry, header); /* now with the final size */
    leat_saved_file_patch(zip->file, entry->offset, header, n_header);
    return 0;
}

void leat_zip_finish(struct leat_zip *zip) {
    uint64_t directory = zip->file->n_bytes;
    uint8_t header[LEAT_ZIP_HEADER_MAX], end[LEAT_ZIP_END_MAX];

    for (size_t i = 0; i < zip->n_entries; i++)
        leat_saved_file_write(zip->file, header, leat_zip_central(&zip->entries[i], header));
    leat_saved_file_write(
        zip->file, end,
        leat_zip_end(zip->n_entries, directory, zip->file->n_bytes - directory, end));
}
