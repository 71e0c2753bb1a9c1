/* zip.h: a ZIP archive (PKWARE, APPNOTE.TXT 6.3.10) as .npz files are, stored or deflated, with
 * ZIP64 where numbers need it.
 *
 * All dates are 1980-01-01, so that the bytes depend on the contents alone. One thread.
 */
#pragma once

#include <stdbool.h>

#include "client/save/saved_file.h"

#define LEAT_ZIP_MAX_ENTRIES 256
#define LEAT_ZIP_NAME_MAX    80
#define LEAT_ZIP_HEADER_MAX  (46 + LEAT_ZIP_NAME_MAX + 28) /* of an entry, local or central */
#define LEAT_ZIP_END_MAX     (56 + 20 + 22)

struct leat_zip_entry {
    char name[LEAT_ZIP_NAME_MAX]; /* UTF-8, terminated */
    uint64_t n_bytes, n_stored;   /* before and after compression */
    uint64_t offset;              /* of its local header, in the file */
    uint32_t crc;
    bool is_deflated;
    bool is_large; /* its local header has room for 64 bits */
};

struct leat_zip {
    struct leat_saved_file *file;
    int compression; /* 0, or zlib's level */
    size_t n_entries;
    struct leat_zip_entry entries[LEAT_ZIP_MAX_ENTRIES];
};

/* The file is empty: an archive begins at its start. */
void leat_zip_init(struct leat_zip *zip, struct leat_saved_file *file, int compression);
/* Adds an entry whose content is `head` and `body`, which may be NULL if empty. 0 or -ENOMEM. */
int leat_zip_add(struct leat_zip *zip, const char *name, const void *head, size_t n_head,
                 const void *body, size_t n_body, struct leat_error *err);
/* Writes the directory. */
void leat_zip_finish(struct leat_zip *zip);

/* Write the headers of an entry and the end of the archive; return their sizes. */
size_t leat_zip_local(const struct leat_zip_entry *entry, uint8_t ret[LEAT_ZIP_HEADER_MAX]);
size_t leat_zip_central(const struct leat_zip_entry *entry, uint8_t ret[LEAT_ZIP_HEADER_MAX]);
size_t leat_zip_end(size_t n_entries, uint64_t directory_offset, uint64_t directory_bytes,
                    uint8_t ret[LEAT_ZIP_END_MAX]);
