/* fuzz_jsonl.c: a JSON Lines source on a file: probe, then every record in one piece and in small
 * ones, which must give the same rows and the same faults.
 *
 * The first byte chooses the arguments, the second the pieces; the rest is the file.
 */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return source_fuzz("jsonl", args, sizeof(args) / sizeof(*args), data, size);
}
