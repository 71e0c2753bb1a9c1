/* fuzz_csv.c: a CSV source on a file: probe, then every record in one piece and in small ones,
 * which must give the same rows and the same faults.
 *
 * The first byte chooses the arguments, the second the pieces; the rest is the file.
 */
#include "tests/pipeline/shared_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const args[] = {
    "{ paths: in }",
    "{ paths: in, delimiter: \";\", quote: \"\" }",
    "{ paths: in, header: false, names: [a, b, c] }",
    "{ paths: in, quote: \"'\", delimiter: \"\\t\" }",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return source_fuzz("csv", args, sizeof(args) / sizeof(*args), data, size);
}
