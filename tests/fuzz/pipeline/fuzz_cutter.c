/* fuzz_cutter.c: pipeline/cut/cutter.c against its definition, in one piece and in many.
 *
 * The first four bytes choose kind, quoting, limit and pieces; the rest is the file.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/shared_cut.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t limits[] = {2, 5, 60, 128, 200, 1 << 20};
    static const char *const separators[] = {"\n\n", "a", "aab", ",\"\n"};
    struct leat_cutter cutter = {.kind = LEAT_CUTTER_CSV, .delimiter = ',', .quote = '"'};
    struct cut_list want, whole, pieces;
    size_t piece_bytes[2];

    if (size < 4 || size > 65536)
        return 0;
    cutter.kind = data[0] % 8 == 7 ? LEAT_CUTTER_LINES : LEAT_CUTTER_CSV;
    if (data[0] >= 0xc0)
        cutter.kind = data[0] >= 0xe0 ? LEAT_CUTTER_SEPARATOR : LEAT_CUTTER_WHOLE;
    cutter.separator = separators[data[0] / 2 % 4];
    cutter.n_separator = (uint32_t)strlen(cutter.separator);
    cutter.quote = data[0] % 8 == 6 ? 0 : '"';
    cutter.max_record_bytes = limits[data[1] % 6];
    piece_bytes[0] = 1 + data[2];
    piece_bytes[1] = 1 + (size_t)data[3] * 16;
    data += 4;
    size -= 4;
    cut_list_init(&want, size);
    cut_list_init(&whole, size);
    cut_list_init(&pieces, size);
    cut_by_definition(&cutter, data, size, &want);
    cut_in_pieces(&cutter, data, size, NULL, 0, &whole);
    cut_in_pieces(&cutter, data, size, piece_bytes, 2, &pieces);
    if (!cut_lists_equal(&want, &whole) || !cut_lists_equal(&want, &pieces))
        abort();
    for (size_t i = 0; i < want.n_records; i++) {
        uint32_t line, column;
        (void)leat_cutter_check(&cutter, data + want.starts[i], want.ends[i] - want.starts[i],
                                &line, &column);
    }
    cut_list_deinit(&want);
    cut_list_deinit(&whole);
    cut_list_deinit(&pieces);
    return 0;
}
