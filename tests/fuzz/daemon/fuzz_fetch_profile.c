/* fuzz_fetch_profile.c: the files of ~/.aws. A value that is found stands in the text, and fits. A
 * section of another profile behind the text changes nothing; one of this profile counts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/aws_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_behind(const char *text, const char *key, const char *value, int found) {
    char *longer, again[24];

    if (asprintf(&longer, "%s\n[profile other]\n%s = a b\n", text, key) < 0)
        return;
    if (leat_aws_profile_get(longer, "default", key, again, sizeof(again)) != found ||
        (found > 0 && strcmp(again, value) != 0))
        abort();
    free(longer);
    if (asprintf(&longer, "%s\n[ default ]\n%s = a b\n", text, key) < 0)
        return;
    if (leat_aws_profile_get(longer, "default", key, again, sizeof(again)) != 1 ||
        strcmp(again, "a b") != 0)
        abort();
    free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    static const char *const keys[] = {"aws_access_key_id", "region", "a"};
    char *text = calloc(1, n_bytes + 1), value[24];

    if (!text)
        return 0;
    if (n_bytes > 0)
        memcpy(text, data, n_bytes);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int found = leat_aws_profile_get(text, "default", keys[i], value, sizeof(value));

        if (found > 0 && (!value[0] || strlen(value) >= sizeof(value) || !strstr(text, value)))
            abort();
        check_behind(text, keys[i], value, found);
    }
    free(text);
    return 0;
}
