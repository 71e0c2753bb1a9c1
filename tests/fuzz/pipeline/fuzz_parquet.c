/* fuzz_parquet.c: a Parquet file: what is seen from the place of a record on is what comes behind
 * it, and the records make the same rows in one piece and in small ones. Errors are final; a reader
 * that is made to go on behind them, or at other rows, still gives nothing but what it should.
 *
 * The first byte chooses the arguments, the second the limits; the rest is the file.
 */
#include "tests/fuzz/mutate.h"
#include "tests/pipeline/shared_arrow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(2, mutate_in_place(data, size, seed))

static const char *const args[] = {
    "{ paths: in }",
    "{ paths: in, missing: {f: 1}, fields: {text: text, f: float64, b: json} }",
    "{ paths: in, fields: {messages: json, m: \"meta json\", v: \"vec int32[]\"} }",
    "{ paths: in, fields: {day: int64, when: int64, price: text, raw: text} }",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_input_limits limits = {.max_window_bytes = 1 << 20, .max_expansion = 1};

    if (size < 10 || size > 65536)
        return 0;
    limits.max_record_bytes = 64 + 16 * (uint64_t)data[1];
    arrow_fuzz("parquet", args[data[0] % (sizeof(args) / sizeof(*args))], data + 2, size - 2,
               &limits);
    return 0;
}
