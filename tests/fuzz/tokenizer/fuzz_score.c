/* fuzz_score.c: the score of a piece as serde_json reads it, for any JSON number: all of it is
 * read, and the value is within a few units in the last place of the nearest double. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/tokenizer/json.h"
#include "pipeline/tokenizer/model/score_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t n) {
    const char *end;
    double value, nearest = strtod(text, NULL);
    bool is_good = leat_score_parse(text, text + n, &value, &end);

    if (end != text + n)
        abort();
    if (!is_good) {
        if (fabs(nearest) < 1e300)
            abort();
    } else if (fabs(value - nearest) > fabs(nearest) * 1e-14 + 1e-320) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_json_node root;
    struct leat_json *json;
    char text[512] = {0};

    if (size == 0 || size > sizeof(text) - LEAT_JSON_PADDING || (data[0] != '-' && data[0] < '0') ||
        data[0] > '9' || data[size - 1] < '0' || data[size - 1] > '9')
        return 0;
    memcpy(text, data, size);
    if (leat_json_new(1024, &json) < 0)
        abort();
    if (leat_json_parse(json, text, size, size, &root, &err) == 0)
        check(text, size);
    leat_json_free(json);
    return 0;
}
