#include "pipeline/run/intake/reader.h"

static void limit_files(struct leat_reader *reader) {
    size_t first, end;

    if (!reader->is_lane)
        return;
    leat_plan_lane_files(reader->plan, reader->lane, &first, &end);
    leat_scan_limit(&reader->scan, first, end);
}

void leat_reader_init(struct leat_reader *reader, struct leat_plan *plan,
                      const struct leat_run_options *options, struct leat_account *account,
                      uint32_t lane, size_t n_lanes, size_t max_map_jobs) {
    bool is_at_start = options->first_epoch == 0 && options->first_step == 0;

    *reader = (struct leat_reader){
        .plan = plan,
        .opener = options->opener,
        .lane = lane,
        .is_lane = n_lanes > 0,
        .repeats = n_lanes > 0 && plan->mixing->exhausted == LEAT_EXHAUSTED_REPEAT,
        .first_epoch = options->first_epoch,
        .n_epochs = options->n_epochs,
        .epoch = options->first_epoch,
    };
    leat_scan_start(&reader->scan, plan, options->opener, n_lanes == 0 && is_at_start);
    limit_files(reader);
    leat_decode_ahead_init(&reader->ahead, plan, options->opener, account, max_map_jobs,
                           n_lanes ? n_lanes : 1);
    leat_data_watch_init(&reader->watch, plan, options->opener,
                         options->on_change == LEAT_ON_CHANGE_FAIL);
    if (reader->is_lane)
        leat_data_watch_limit(&reader->watch, reader->scan.file, reader->scan.end_file);
}

void leat_reader_deinit(struct leat_reader *reader) {
    leat_decode_ahead_reset(&reader->ahead);
    leat_scan_stop(&reader->scan);
    leat_data_watch_deinit(&reader->watch);
}

bool leat_reader_wants_epoch(const struct leat_reader *reader, uint64_t epoch) {
    return reader->n_epochs == 0 || epoch - reader->first_epoch < reader->n_epochs;
}

bool leat_reader_wants_pass(const struct leat_reader *reader, uint64_t pass) {
    const struct leat_plan *plan = reader->plan;

    return reader->repeats ||
           (plan->has_repeat && (plan->repeat_count == 0 || pass < plan->repeat_count));
}

static void start_scan(struct leat_reader *reader) {
    leat_scan_start(&reader->scan, reader->plan, reader->opener, false);
    limit_files(reader);
}

void leat_reader_extend(struct leat_reader *reader, uint64_t n_epochs) {
    bool was_wanted = leat_reader_wants_epoch(reader, reader->epoch);

    reader->n_epochs = n_epochs;
    if (was_wanted || !leat_reader_wants_epoch(reader, reader->epoch))
        return;
    reader->has_ended = false;
    start_scan(reader);
}

void leat_reader_next_pass(struct leat_reader *reader, bool epoch_is_over) {
    leat_decode_ahead_reset(&reader->ahead);
    leat_scan_stop(&reader->scan);
    if (!epoch_is_over && leat_reader_wants_pass(reader, reader->pass + 1)) {
        reader->pass++;
    } else {
        reader->epoch++;
        reader->pass = 0;
    }
    reader->has_ended = !leat_reader_wants_epoch(reader, reader->epoch);
    reader->end_record = 0;
    leat_data_watch_next_pass(&reader->watch);
    if (!reader->has_ended)
        start_scan(reader);
}

bool leat_reader_skips(struct leat_reader *reader, uint64_t epoch, uint64_t pass,
                       uint64_t now_epoch) {
    if (reader->epoch != epoch)
        return false;
    if (reader->pass != pass && now_epoch == epoch)
        return false; /* It reads a later pass, which is wanted. */
    reader->is_stale |= reader->is_out;
    return !reader->is_out;
}

void leat_reader_restart(struct leat_reader *reader) {
    leat_decode_ahead_reset(&reader->ahead);
    leat_scan_stop(&reader->scan);
    reader->end_record = 0;
    start_scan(reader);
}

void leat_reader_start_behind(struct leat_reader *reader, const struct leat_cache_span *span,
                              uint64_t n_records, uint64_t n_file_records) {
    reader->end_record = n_records;
    if (span)
        leat_scan_start_behind(&reader->scan, reader->plan, reader->opener, span, n_records,
                               n_file_records);
}

void leat_reader_start_file(struct leat_reader *reader, size_t file) {
    leat_scan_limit(&reader->scan, file, reader->scan.end_file);
}

bool leat_reader_may_scan(struct leat_reader *reader) {
    return leat_decode_ahead_hand_over(&reader->ahead, &reader->scan);
}

void leat_reader_start_job(struct leat_reader *reader, size_t max_bytes, size_t block_bytes,
                           size_t n_pieces, bool only_places, struct leat_scan_job *ret_job) {
    size_t limit = only_places ? LEAT_SCAN_PLACES_MAX : LEAT_SCAN_MAX;

    leat_scan_watch(&reader->scan, &reader->watch);
    *ret_job = (struct leat_scan_job){
        .scan = &reader->scan,
        .max_bytes = max_bytes,
        .block_bytes = block_bytes,
        .n_pieces = n_pieces < limit ? n_pieces : limit,
        .only_places = only_places,
    };
    reader->is_out = true;
}

void leat_reader_abort_job(struct leat_reader *reader) {
    reader->is_out = false;
}

bool leat_reader_end_job(struct leat_reader *reader, const struct leat_scan_job *job) {
    bool was_stale = reader->is_stale;

    reader->is_out = reader->is_stale = false;
    leat_decode_ahead_follow(&reader->ahead, job);
    return was_stale;
}
