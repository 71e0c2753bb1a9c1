/* fuzz_fetch_listing.c: what an object store answers as XML. A page that is taken has whole
 * objects, and where it goes on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/listing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_listing listing;
    struct leat_store_error error;

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
    leat_store_error_parse((const char *)data, n_bytes, &error);
    if (strlen(error.code) >= sizeof(error.code) || strlen(error.message) >= sizeof(error.message))
        abort();
    return 0;
}
