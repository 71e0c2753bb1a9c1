/* fuzz_csv.c: a CSV source on a file: probe, then every record in one piece and in small ones,
 * which must give the same rows and the same faults.
 *
 * The first byte chooses the arguments, the second the pieces; the rest is the file.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const args[] = {
    "{ paths: in }",
    "{ paths: in, delimiter: \";\", quote: \"\" }",
    "{ paths: in, header: false, names: [a, b, c] }",
    "{ paths: in, quote: \"'\", delimiter: \"\\t\" }",
};

static void parse_twice(struct source *source, const uint8_t *data, size_t size,
                        size_t piece_bytes) {
    struct leat_text whole = {.data = NULL}, pieces = {.data = NULL};
    struct leat_error err = LEAT_ERROR_INIT, again = LEAT_ERROR_INIT;
    int r = source_parse(source, data, size, 0, false, &whole, &err);

    if (source_parse(source, data, size, piece_bytes, false, &pieces, &again) != r ||
        whole.n_bytes != pieces.n_bytes ||
        (whole.n_bytes && memcmp(whole.data, pieces.data, whole.n_bytes) != 0))
        abort();
    free(whole.data);
    free(pieces.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    const char *chosen;
    struct source source;
    size_t n_head;

    if (size < 2 || size > 65536)
        return 0;
    chosen = args[data[0] % (sizeof(args) / sizeof(*args))];
    if (source_init(&source, "csv", chosen, &err) < 0)
        abort();
    if (source_probe(&source, data + 2, size - 2, true, &err) == 0) {
        parse_twice(&source, data + 2, size - 2, 1 + data[1]);
        n_head = size - 2;
        free(source_shorten(&source, "csv", chosen, data + 2, &n_head, true));
    }
    source_deinit(&source);
    return 0;
}
