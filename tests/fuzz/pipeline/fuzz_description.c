/* fuzz_description.c: any bytes as what was kept of a spec or of data: what is believed is printed
 * the same, and comparing any two texts ends in a text. The input is cut in two at its first NUL.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/data_text.h"
#include "pipeline/plan/description.h"
#include "pipeline/plan/spec_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_file(const uint8_t *data, size_t size) {
    char *file = malloc(size + 1), *again;
    const char *text;

    if (!file)
        abort();
    memcpy(file, data, size);
    file[size] = '\0';
    text = leat_description_unpack("spec", file, size);
    if (text) {
        again = leat_description_pack("spec", text);
        if (!again || strlen(again) != size || memcmp(again, data, size) != 0)
            abort();
        free(again);
    }
    free(file);
}

static void compare(const char *old, const char *new) {
    struct leat_text text = {.data = NULL};

    leat_spec_text_compare(old, new, &text);
    leat_data_text_compare(old, new, &text);
    if (text.failed || (text.data && strlen(text.data) > text.n_bytes))
        abort();
    free(text.data);
    text = (struct leat_text){.data = NULL};
    leat_spec_text_compare(old, old, &text);
    leat_data_text_compare(old, old, &text);
    free(text.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t digest[LEAT_DIGEST_BYTES];
    char *copy = malloc(size + 2);
    size_t n;

    if (!copy)
        abort();
    try_file(data, size);
    memcpy(copy, data, size);
    copy[size] = copy[size + 1] = '\0';
    n = strlen(copy);
    leat_spec_text_digest(copy, digest);
    compare(copy, n < size ? copy + n + 1 : "");
    compare(n < size ? copy + n + 1 : "", copy);
    free(copy);
    return 0;
}
