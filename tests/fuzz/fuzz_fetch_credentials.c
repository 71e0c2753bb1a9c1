/* fuzz_fetch_credentials.c: what credential_process and the metadata of an instance say. What is
 * taken can stand in a header. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_credentials credentials = {.key = ""};

    if (leat_credentials_parse((const char *)data, n_bytes, &credentials, LEAT_ERROR_IGNORED) ==
            0 &&
        (!credentials.key[0] || !credentials.secret[0] || strpbrk(credentials.key, "\r\n ") ||
         strpbrk(credentials.secret, "\r\n ") || strpbrk(credentials.token, "\r\n ")))
        abort();
    return 0;
}
