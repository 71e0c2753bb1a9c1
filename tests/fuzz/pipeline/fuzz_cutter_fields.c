/* fuzz_cutter_fields.c: the fields of a CSV record against libcsv.
 *
 * The first byte chooses delimiter, quote and what may be read behind the record; the rest is the
 * record.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_libcsv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t delimiters[] = {',', ';', '\t', ','}, quotes[] = {'"', '\'', '"', 0};
    struct leat_cutter cutter = {.kind = LEAT_CUTTER_CSV, .max_record_bytes = UINT32_MAX};
    size_t n_behind;
    uint8_t *record;

    if (size < 2 || size > 65536)
        return 0;
    cutter.delimiter = delimiters[data[0] % 4];
    cutter.quote = quotes[data[0] % 4];
    n_behind = (size_t)(data[0] / 4) * 2;
    data++;
    size--;
    record = malloc(size + n_behind);
    if (!record)
        return 0;
    memset(record, '"', size + n_behind);
    memcpy(record, data, size);
    if (!libcsv_agrees(&cutter, record, size, size + n_behind))
        abort();
    free(record);
    return 0;
}
