/* fuzz_fetch_url.c: URLs of objects. What is asked of a server for one that is taken goes to the
 * place that it names, has no blank, and neither a user nor a second query. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/object_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check(const struct leat_text *text, const char *start) {
    if (text->failed)
        return;
    if (strncmp(text->data, start, strlen(start)) != 0 || strlen(text->data) != text->n_bytes)
        abort();
    for (const char *at = text->data; *at; at++)
        if (*at <= 0x20 || *at == 0x7f)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    struct leat_store store = {.endpoint = "http://store:9000", .region = "r"};
    struct leat_text text = {.data = NULL}, start = {.data = NULL};
    struct leat_object_url url;
    char *given = calloc(1, n_bytes + 1);

    if (!given)
        return 0;
    if (n_bytes > 0)
        memcpy(given, data, n_bytes);
    (void)leat_host_is_local(given);
    if (leat_object_url_parse(given, &url, LEAT_ERROR_IGNORED) == 0) {
        leat_text_add(&start, "%s/%s/",
                      url.is_s3    ? store.endpoint
                      : url.is_tls ? "https:/"
                                   : "http:/",
                      url.host);
        leat_object_url_add(&text, &url, &store);
        check(&text, start.data);
        if (strchr(text.data, '?') || strchr(url.host, '@') || strchr(url.host, '/'))
            abort();
        if (url.is_s3) {
            text.n_bytes = 0;
            leat_object_url_add_list(&text, &url, &store, "a&b");
            check(&text, start.data);
        }
    }
    free(text.data);
    free(start.data);
    free(given);
    return 0;
}
