/* fuzz_spec.c: a StreamSpec as a trainer may send it: looked over, unpacked, copied, checked. What
 * is unpacked takes memory in proportion to the input. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan.h"
#include "proto/leat.pb-c.h"
#include "tests/fuzz/mutate.h"
#include "tests/proto/shared_unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(0, mutate_message(&leat__stream_spec__descriptor, data, size, max_size, seed))

static void check(const struct leat_spec *spec) {
    struct leat_error err = LEAT_ERROR_INIT, again = LEAT_ERROR_INIT;
    struct leat_spec *copy = NULL;
    int r = leat_plan_check(spec, &err);

    if (r > 0 || r != err.code || (r < 0) != (err.message[0] != '\0'))
        abort();
    if (leat_spec_copy(spec, &copy) < 0)
        abort();
    if (leat_plan_check(copy, &again) != r || strcmp(err.message, again.message) != 0)
        abort();
    leat_spec_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    Leat__StreamSpec *message;
    struct leat_spec *spec = NULL;
    int r;

    if (unpack_within_bounds(&leat__stream_spec__descriptor, data, size) < 0)
        return 0;
    message = leat__stream_spec__unpack(NULL, size, data);
    if (!message)
        return 0;
    r = leat_spec_unpack(message, &spec, &err);
    if (r != err.code || (r == 0) != (spec != NULL))
        abort();
    if (r == 0)
        check(spec);
    leat_spec_free(spec);
    leat__stream_spec__free_unpacked(message, NULL);
    return 0;
}
