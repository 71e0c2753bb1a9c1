/* fuzz_stunnel_conf.c: any bytes as a stunnel.conf. A value that is taken stands in the text, with
 * no blanks around it, and a file of the values that were taken reads the same. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/doctor/tunnels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static bool read_text(const void *text, size_t n_bytes, struct leat_stunnel_conf *ret_conf) {
    FILE *file = fmemopen((void *)(uintptr_t)text, n_bytes, "r");
    bool is_read;

    if (!file)
        abort();
    is_read = leat_stunnel_conf_read(file, ret_conf) == 0;
    (void)fclose(file);
    return is_read;
}

static void add(FILE *copy, const char *key, const char *value, const uint8_t *data,
                size_t n_bytes) {
    size_t n = strlen(value);

    if (n > 0 && (strchr(" \t\n", value[0]) || strchr(" \t\n", value[n - 1]) ||
                  !memmem(data, n_bytes, value, n)))
        abort();
    (void)fprintf(copy, "%s = %s\n", key, value);
}

/* What stands behind the end of a value is left of one before it. */
static bool are_equal(const struct leat_stunnel_conf *a, const struct leat_stunnel_conf *b) {
    for (size_t at = 0; at < sizeof(*a); at += LEAT_STUNNEL_VALUE_SIZE)
        if (strcmp((const char *)a + at, (const char *)b + at) != 0)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    static struct leat_stunnel_conf conf, again;
    size_t n_copied;
    char *text;
    FILE *copy;

    if (n_bytes == 0 || !read_text(data, n_bytes, &conf))
        return 0;
    copy = open_memstream(&text, &n_copied);
    if (!copy)
        return 0;
    add(copy, "CLIENT", conf.client, data, n_bytes);
    add(copy, "accept", conf.accept, data, n_bytes);
    add(copy, "connect", conf.connect, data, n_bytes);
    add(copy, "cert", conf.cert, data, n_bytes);
    add(copy, "CAfile", conf.ca_file, data, n_bytes);
    add(copy, "CApath", conf.ca_path, data, n_bytes);
    add(copy, "verifyChain", conf.verify_chain, data, n_bytes);
    add(copy, "verifyPeer", conf.verify_peer, data, n_bytes);
    add(copy, "requireCert", conf.require_cert, data, n_bytes);
    add(copy, "checkHost", conf.check_host, data, n_bytes);
    add(copy, "checkIP", conf.check_ip, data, n_bytes);
    (void)fclose(copy);
    if (!read_text(text, n_copied, &again) || !are_equal(&conf, &again))
        abort();
    free(text);
    return 0;
}
