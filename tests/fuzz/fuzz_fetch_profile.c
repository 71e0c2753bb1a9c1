/* fuzz_fetch_profile.c: the files of ~/.aws. A value that is found stands in the text, and fits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fetch/aws_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    static const char *const keys[] = {"aws_access_key_id", "region", "a"};
    char *text = calloc(1, n_bytes + 1), value[24];

    if (!text)
        return 0;
    if (n_bytes > 0)
        memcpy(text, data, n_bytes);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (leat_aws_profile_get(text, "default", keys[i], value, sizeof(value)) &&
            (!value[0] || strlen(value) >= sizeof(value) || !strstr(text, value)))
            abort();
    free(text);
    return 0;
}
