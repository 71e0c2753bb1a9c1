#include "client/cli/base/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/save/saved_file.h"
#include "pipeline/plan/data_kept.h"
#include "pipeline/plan/description.h"

/* ---- files ---- */

static int read_file(const char *path, char ret_text[LEAT_POSITION_TEXT_SIZE],
                     struct leat_error *err) {
    char *data;
    size_t n_bytes;
    int r =
        leat_opener_read(&leat_opener_any, path, LEAT_POSITION_TEXT_SIZE - 1, &data, &n_bytes, err);

    if (r < 0)
        return r;
    memcpy(ret_text, data, n_bytes + 1);
    if (memchr(data, '\0', n_bytes))
        r = leat_error_set(err, -EINVAL,
                           "%s: the file contains a NUL byte, so it is not a position", path);
    free(data);
    return r;
}

int leat_cli_checkpoint_read(const struct leat_cli_arguments *arguments,
                             char ret_text[LEAT_POSITION_TEXT_SIZE], struct leat_error *err) {
    const char *given = arguments->position;
    struct leat_position position;
    int r = 0;

    ret_text[0] = '\0';
    if (!given && arguments->accept_changes)
        return leat_error_set(err, -EINVAL,
                              "--accept-changes works only with --position: add --position, or "
                              "leave out --accept-changes");
    if (!given)
        return 0;
    if (given[0] == '@')
        r = read_file(given + 1, ret_text, err);
    else if (strlen(given) >= LEAT_POSITION_TEXT_SIZE)
        r = leat_error_set(err, -EINVAL, "a position has at most %d bytes, but you gave %zu",
                           LEAT_POSITION_TEXT_SIZE - 1, strlen(given));
    else
        memcpy(ret_text, given, strlen(given) + 1);
    if (r < 0 && given[0] == '@') /* the error names the file */
        return r;
    if (r == 0)
        r = leat_position_read(ret_text, &position, err);
    if (r < 0 && given[0] == '@')
        leat_error_locate(err, given + 1, 0, 0);
    else if (r < 0)
        leat_error_prefix(err, "--position");
    return r;
}

int leat_cli_checkpoint_write(const struct leat_cli_arguments *arguments, const char *position,
                              struct leat_error *err) {
    struct leat_saved_file *file;
    int r;

    if (!arguments->save_position)
        return 0;
    r = leat_saved_file_new(arguments->save_position, &file, err);
    if (r < 0)
        return r;
    leat_saved_file_text(file, position);
    leat_saved_file_text(file, "\n");
    return leat_saved_file_commit(file, err);
}

/* ---- without a daemon ---- */

/* Takes the start from the position, unless another seed is wanted. */
static int take_position(const char *text, bool accepts_changes, struct leat_claim *claim,
                         struct leat_run_options *options, struct leat_error *err) {
    struct leat_position position;
    int r = leat_position_read(text, &position, err);

    if (r < 0)
        return r;
    if (options->has_seed && options->seed != position.seed && !accepts_changes)
        return leat_error_set(err, -ESTALE,
                              "the position has the seed %llu, but --seed is %llu: leave out "
                              "--seed, or add --accept-changes",
                              (unsigned long long)position.seed, (unsigned long long)options->seed);
    claim->has_spec = claim->has_data = true;
    memcpy(claim->spec, position.spec, sizeof(claim->spec));
    memcpy(claim->data, position.data, sizeof(claim->data));
    options->first_epoch = position.epoch;
    options->first_step = options->round_phase = position.step;
    options->seed = options->has_seed ? options->seed : position.seed;
    options->has_seed = true;
    return 0;
}

static int check_claim(const struct leat_plan *plan, const struct leat_claim *claim,
                       bool accepts_changes, struct leat_error *err) {
    struct leat_descriptions descriptions;
    struct leat_error unused = LEAT_ERROR_INIT;
    int r = 0;

    leat_descriptions_init(&descriptions, NULL);
    if (!accepts_changes)
        r = leat_descriptions_check(&descriptions, plan, claim, err);
    if (r == 0) /* without it a later error about changed data has fewer details */
        (void)leat_descriptions_keep(&descriptions, plan, &unused);
    return r;
}

int leat_cli_identify_data(struct leat_plan *plan, const struct leat_opener *opener,
                           struct leat_error *err) {
    struct leat_error unused = LEAT_ERROR_INIT;
    struct leat_data_kept kept;

    leat_data_kept_init(&kept, NULL);
    return leat_data_kept_identify(&kept, plan, opener, NULL, &unused, err);
}

int leat_cli_place_start(struct leat_cli_place *place, const char *position, bool accepts_changes,
                         struct leat_plan *plan, struct leat_run_options *options,
                         struct leat_error *err) {
    struct leat_claim claim = {.has_spec = false};
    int r = 0;

    if (position[0])
        r = take_position(position, accepts_changes, &claim, options, err);
    if (r == 0)
        r = leat_cli_identify_data(plan, options->opener, err);
    if (r == 0)
        r = check_claim(plan, &claim, accepts_changes, err);
    *place = (struct leat_cli_place){
        .position = {.seed = options->has_seed ? options->seed : (uint64_t)plan->options.seed,
                     .epoch = options->first_epoch,
                     .step = options->first_step,
                     .world_size = (uint32_t)options->world_size},
        .first_epoch = options->first_epoch,
        .first_step = options->first_step,
        .n_steps = options->n_steps};
    memcpy(place->position.spec, plan->spec_digest, sizeof(place->position.spec));
    memcpy(place->position.data, plan->data_digest, sizeof(place->position.data));
    return r;
}

void leat_cli_place_take(struct leat_cli_place *place, const struct leat_output *output) {
    if (output->kind == LEAT_OUTPUT_BATCH) {
        place->n_taken++;
        place->position.epoch = output->epoch;
        place->position.step = output->step + place->position.world_size;
    } else if (!output->is_last || place->n_steps == 0 || place->n_taken < place->n_steps) {
        place->position.epoch = output->epoch + 1;
        place->position.step = 0;
    }
}

void leat_cli_place_print(const struct leat_cli_place *place,
                          char ret_text[LEAT_POSITION_TEXT_SIZE]) {
    struct leat_position position = place->position;

    position.step = leat_position_round(
        position.step, position.epoch == place->first_epoch ? place->first_step : 0,
        position.world_size);
    (void)leat_position_print(&position, ret_text);
}
