/* fuzz_fetch_listing.c: what an object store answers as XML. A page that is taken has whole
 * objects, and where it goes on; an upload that is taken has a name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/listing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_listing listing;
    struct leat_store_error error;
    char upload[LEAT_LISTING_TEXT_MAX + 1];

    if (leat_listing_parse((const char *)data, n_bytes, &listing, &err) == 0) {
        if (listing.is_truncated && !listing.token[0])
            abort();
        for (size_t i = 0; i < listing.n_items; i++)
            if (!listing.items[i].key || !listing.items[i].key[0] || !listing.items[i].etag ||
                listing.items[i].n_bytes == UINT64_MAX ||
                strlen(listing.items[i].key) > LEAT_LISTING_TEXT_MAX)
                abort();
    } else if (err.code >= 0 || !err.message[0]) {
        abort();
    }
    leat_listing_deinit(&listing);
    err = LEAT_ERROR_INIT;
    if (leat_upload_begun_parse((const char *)data, n_bytes, upload, &err) == 0
            ? !upload[0]
            : err.code >= 0 || !err.message[0])
        abort();
    if (leat_upload_ended_parse((const char *)data, n_bytes, LEAT_ERROR_IGNORED) == 0 &&
        !memmem(data, n_bytes, "CompleteMultipartUploadResult", 29))
        abort();
    leat_store_error_parse((const char *)data, n_bytes, &error);
    if (strlen(error.code) >= sizeof(error.code) || strlen(error.message) >= sizeof(error.message))
        abort();
    return 0;
}
