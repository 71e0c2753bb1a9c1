/* fuzz_jsonl.c: a JSON Lines source on a file: probe, then every record in one piece and in small
 * ones, which must give the same rows and the same faults.
 *
 * The first byte chooses the arguments, the second the pieces; the rest is the file.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/mutate.h"
#include "tests/pipeline/shared_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(2, mutate_text(data, size, max_size, seed))

static const char *const args[] = {
    "{ paths: in }",
    "{ paths: in, fields: {a: int64, b: text, m.c: list<uint8>, d: bool, e: float16} }",
    "{ paths: in, fields: {a: uint8, x: \"m text\", y: \"m.n.o list<bool>\"}, missing: {a: 1} }",
    "{ paths: in, fields: {a: json, m: json, n: \"m.n json\", o: \"m.n.o text\", e: int64} }",
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
    if (source_init(&source, "jsonl", chosen, &err) < 0)
        abort();
    if (source_probe(&source, data + 2, size - 2, true, &err) == 0) {
        parse_twice(&source, data + 2, size - 2, 1 + data[1]);
        n_head = size - 2;
        free(source_shorten(&source, "jsonl", chosen, data + 2, &n_head, true));
    }
    source_deinit(&source);
    return 0;
}
