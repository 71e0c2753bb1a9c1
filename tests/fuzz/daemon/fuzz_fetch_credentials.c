/* fuzz_fetch_credentials.c: what credential_process and the metadata of an instance say. What is
 * taken can stand in a header, and is read again from JSON of these three alone. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/credentials.h"
#include "proto/base/json_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_again(const struct leat_credentials *taken) {
    static struct leat_credentials again;
    struct leat_text json = {.data = NULL};

    leat_json_open(&json, NULL, '{');
    leat_json_add_text(&json, "Token", taken->token);
    leat_json_add_text(&json, "SecretAccessKey", taken->secret);
    leat_json_add_text(&json, "AccessKeyId", taken->key);
    leat_json_close(&json, '}');
    if (!json.failed &&
        (leat_credentials_parse(json.data, json.n_bytes, &again, LEAT_ERROR_IGNORED) < 0 ||
         strcmp(again.key, taken->key) != 0 || strcmp(again.secret, taken->secret) != 0 ||
         strcmp(again.token, taken->token) != 0 || again.expires_at != 0))
        abort();
    free(json.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    static struct leat_credentials credentials;

    if (leat_credentials_parse((const char *)data, n_bytes, &credentials, LEAT_ERROR_IGNORED) < 0)
        return 0;
    if (!credentials.key[0] || !credentials.secret[0] || strpbrk(credentials.key, "\r\n ") ||
        strpbrk(credentials.secret, "\r\n ") || strpbrk(credentials.token, "\r\n "))
        abort();
    check_again(&credentials);
    return 0;
}
