/* fuzz_yaml.c: text to values to specs to checked plans, and the same specs over the wire. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/faults.h"
#include "pipeline/plan/plan.h"
#include "pipeline/spec/yaml.h"
#include "tests/fuzz/mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FUZZ_MUTATOR(0, mutate_text(data, size, max_size, seed))

/* A failure has a code and a message; a success has neither. */
static void check_error(int r, const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    if (r > 0 || r != err->code || (r < 0) != (err->message[0] != '\0'))
        abort();
    (void)leat_error_print(err, text, sizeof(text));
}

static void count(void *data, const struct leat_error *err) {
    check_error(err->code, err);
    ++*(size_t *)data;
}

/* All faults begin with the one that stops a plan. */
static void check_faults(const struct leat_spec *spec, int r) {
    size_t n = 0;

    if (leat_plan_faults(spec, count, &n) != n || (n > 0) != (r < 0) || n > LEAT_FAULTS_MAX)
        abort();
}

/* A spec that came from text can be packed, and comes back to the same verdict. */
static void check_spec(const struct leat_spec *spec) {
    struct leat_error err = LEAT_ERROR_INIT, again = LEAT_ERROR_INIT;
    struct Leat__StreamSpec *message = NULL;
    struct leat_spec *back = NULL;
    int r = leat_plan_check(spec, &err);

    check_error(r, &err);
    check_faults(spec, r);
    if (leat_spec_pack(spec, &message) < 0)
        abort();
    if (leat_spec_unpack(message, &back, &again) == 0 &&
        (leat_plan_check(back, &again) != r || strcmp(again.message, err.message) != 0))
        abort();
    leat_spec_message_free(message);
    leat_spec_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_spec **specs = NULL;
    struct leat_value document;
    size_t n_specs = 0;
    int r = leat_yaml_parse((const char *)data, size, "f.yaml", &document, &err);

    check_error(r, &err);
    if (r < 0)
        return 0;
    r = leat_yaml_streams(&document, "f.yaml", &specs, &n_specs, &err);
    check_error(r, &err);
    if (r < 0) {
        size_t n = 0;

        if (leat_faults_read_streams(&document, "f.yaml", &specs, &n_specs, count, &n) != n ||
            n == 0)
            abort();
    }
    leat_value_deinit(&document);
    for (size_t i = 0; i < n_specs; i++) {
        check_spec(specs[i]);
        leat_spec_free(specs[i]);
    }
    free(specs);
    return 0;
}
