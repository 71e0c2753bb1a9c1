/* What leatctl top makes of two looks: rates, shares and order; and that no picture is larger than
 * its screen, whatever names hold; and keys, however their sequences are split. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/top/view.h"

#define N_STREAMS  5
#define N_STAGES   3
#define N_TRAINERS 4

/* An update, and what it points to. */
struct update {
    Leat__Update message;
    Leat__StatusReply status;
    Leat__StreamsReply streams;
    Leat__StatsReply stats;
    Leat__StreamStats stream[N_STREAMS], *stream_list[N_STREAMS];
    Leat__StageStats stage[N_STREAMS][N_STAGES], *stage_list[N_STREAMS][N_STAGES];
    Leat__TrainersReply trainers;
    Leat__Trainer trainer[N_TRAINERS], *trainer_list[N_TRAINERS];
    Leat__Session session[N_TRAINERS];
};

static char *const names[] = {
    (char *)(uintptr_t) "plain", (char *)(uintptr_t) "a\033[2J\n\tb\177",
    (char *)(uintptr_t) "\xe6\xb5\x8b\xe8\xaf\x95\xe6\x95\xb0\xe6\x8d\xae\xe6\xb5\x81\xe5\xbe\x88",
    (char *)(uintptr_t) "\xff\xfe broken \xc3", (char *)(uintptr_t) ""};

static void fill_stages(struct update *update, size_t i, uint64_t n) {
    for (size_t k = 0; k < N_STAGES; k++) {
        leat__stage_stats__init(&update->stage[i][k]);
        update->stage[i][k].name = names[(i + k) % N_STREAMS];
        update->stage[i][k].role = (char *)(uintptr_t)(k ? "map" : "order");
        update->stage[i][k].busy_ns = n * (k + 1) * 100000000;
        update->stage[i][k].n_records = n * 1000;
        update->stage_list[i][k] = &update->stage[i][k];
    }
    update->stream[i].stages = update->stage_list[i];
    update->stream[i].n_stages = N_STAGES;
}

/* n: how often a second has passed. */
static void fill(struct update *update, uint64_t n) {
    memset(update, 0, sizeof(*update));
    leat__update__init(&update->message);
    leat__status_reply__init(&update->status);
    leat__streams_reply__init(&update->streams);
    leat__stats_reply__init(&update->stats);
    leat__trainers_reply__init(&update->trainers);
    update->message.at_ns = n * 1000000000;
    update->message.status = &update->status;
    update->message.streams = &update->streams;
    update->message.stats = &update->stats;
    update->status.n_workers = 2;
    update->status.cpu_ns = n * 1500000000;
    update->status.worker_busy_ns = n * 1250000000;
    update->status.version = names[1];
    for (size_t i = 0; i < N_STREAMS; i++) {
        leat__stream_stats__init(&update->stream[i]);
        update->stream[i].name = names[i];
        update->stream[i].n_batches = n * 10 * (i + 1);
        update->stream[i].wait_ns = n * 250000000;
        update->stream_list[i] = &update->stream[i];
        fill_stages(update, i, n);
    }
    update->stats.streams = update->stream_list;
    update->stats.n_streams = N_STREAMS;
    for (size_t i = 0; i < N_TRAINERS; i++) {
        leat__trainer__init(&update->trainer[i]);
        leat__session__init(&update->session[i]);
        update->session[i].id = i + 1;
        update->session[i].n_batches = n * (i + 1);
        update->session[i].client_name = names[i];
        update->trainer[i].session = &update->session[i];
        update->trainer[i].stream = names[i];
        update->trainer[i].wait_ns = n * i * 200000000;
        update->trainer_list[i] = &update->trainer[i];
    }
    update->trainers.trainers = update->trainer_list;
    update->trainers.n_trainers = N_TRAINERS;
}

struct looks {
    struct update before, now;
    struct leat_top_model model;
};

static struct looks *new_looks(void) {
    struct looks *looks = calloc(1, sizeof(*looks));

    assert_non_null(looks);
    fill(&looks->before, 3);
    fill(&looks->now, 5);
    assert_int_equal(leat_top_model_init(&looks->model, &looks->now.message, &looks->before.message,
                                         &looks->now.trainers, &looks->before.trainers),
                     0);
    return looks;
}

static void free_looks(struct looks *looks) {
    leat_top_model_deinit(&looks->model);
    free(looks);
}

static bool is_near(double value, double expected) {
    return value > expected - 1e-6 && value < expected + 1e-6;
}

static void test_rates(void **state) {
    struct looks *looks = new_looks();
    const struct leat_top_model *model = &looks->model;

    (void)state;
    assert_true(is_near(model->seconds, 2) && is_near(model->cpus, 1.5));
    assert_true(is_near(model->streams[1].values[LEAT_TOP_COLUMN_BATCHES], 20) &&
                is_near(model->streams[1].values[LEAT_TOP_COLUMN_WAITS], .25));
    assert_true(is_near(model->streams[0].stages[1].threads, 0.2));
    assert_true(is_near(model->streams[0].stages[1].used, 0.1));
    assert_true(is_near(model->streams[0].stages[0].used, 0.1)); /* of one loop, not two workers */
    assert_true(is_near(model->workers, 1.25));
    assert_true(is_near(model->trainers[2].waits, 0.4));
    assert_true(is_near(model->trainers[2].batch_rate, 3));
    free_looks(looks);
}

/* One look has no rates; a counter that fell began anew; nothing at all is nothing. */
static void test_beginnings(void **state) {
    struct looks *looks = new_looks();
    Leat__Update empty = LEAT__UPDATE__INIT;

    (void)state;
    leat_top_model_deinit(&looks->model);
    assert_int_equal(leat_top_model_init(&looks->model, &looks->now.message, NULL, NULL, NULL), 0);
    assert_true(is_near(looks->model.seconds, 0) &&
                is_near(looks->model.streams[0].values[LEAT_TOP_COLUMN_BATCHES], 0));
    leat_top_model_deinit(&looks->model);
    looks->before.stream[0].n_batches = 1000000;
    assert_int_equal(
        leat_top_model_init(&looks->model, &looks->now.message, &looks->before.message, NULL, NULL),
        0);
    assert_true(is_near(looks->model.streams[0].values[LEAT_TOP_COLUMN_BATCHES], 25));
    leat_top_model_deinit(&looks->model);
    assert_int_equal(leat_top_model_init(&looks->model, &empty, &empty, NULL, NULL), 0);
    assert_int_equal(looks->model.n_streams, 0);
    free_looks(looks);
}

static void test_order(void **state) {
    struct looks *looks = new_looks();

    (void)state;
    leat_top_model_sort_streams(&looks->model, LEAT_TOP_BY_BATCHES);
    assert_ptr_equal(looks->model.streams[0].name, names[4]);
    leat_top_model_sort_streams(&looks->model, LEAT_TOP_BY_NAME);
    assert_ptr_equal(looks->model.streams[0].name, names[4]); /* "" */
    leat_top_model_sort_stages(&looks->model.streams[0], LEAT_TOP_BY_USE);
    assert_int_equal(looks->model.streams[0].stages[0].place, 2);
    leat_top_model_sort_trainers(&looks->model, LEAT_TOP_BY_WAITING);
    assert_int_equal(looks->model.trainers[0].session, 4);
    free_looks(looks);
}

/* Streams that share a name are told apart by which of them they are, in rates, order and keys. */
static void test_namesakes(void **state) {
    struct looks *looks = new_looks();
    struct leat_top_view view = {.n_rows = 40, .n_columns = 100};
    struct leat_top_model *model = &looks->model;

    (void)state;
    leat_top_model_deinit(model);
    for (size_t i = 0; i < 3; i++)
        looks->before.stream[i].name = looks->now.stream[i].name = names[0];
    assert_int_equal(
        leat_top_model_init(model, &looks->now.message, &looks->before.message, NULL, NULL), 0);
    for (size_t i = 0; i < N_STREAMS; i++)
        assert_true(
            is_near(model->streams[i].values[LEAT_TOP_COLUMN_BATCHES], 10 * (double)(i + 1)));
    leat_top_model_sort_streams(model, LEAT_TOP_BY_NAME);
    leat_top_view_choose(&view, &model->streams[0]);
    for (size_t i = 1; i < N_STREAMS; i++) {
        leat_top_view_take(&view, model, LEAT_TOP_KEY_DOWN);
        assert_ptr_equal(leat_top_view_chosen(&view, model), &model->streams[i]);
    }
    for (size_t i = N_STREAMS - 1; i > 0; i--) {
        leat_top_view_take(&view, model, LEAT_TOP_KEY_UP);
        assert_ptr_equal(leat_top_view_chosen(&view, model), &model->streams[i - 1]);
    }
    free_looks(looks);
}

/* Columns of a line: marks take none; control characters must not be there. */
static size_t width_of(const struct leat_text *line) {
    size_t n = 0;

    for (const char *at = line->data ? line->data : ""; *at; at++) {
        unsigned char byte = (unsigned char)*at;

        if (byte == 0x1b) {
            assert_int_equal(at[1], '[');
            at += strcspn(at, "m");
            assert_int_equal(*at, 'm'); /* nothing but colours */
            continue;
        }
        assert_true(byte >= 0x20 && byte != 0x7f);
        n += byte < 0x80 ? 1U : byte >= 0xe0 ? 2U : 0U; /* those of names are wide */
    }
    return n;
}

static void check_picture(struct leat_top_view *view, struct leat_top_model *model) {
    struct leat_top_picture picture;

    leat_top_view_draw(view, model, &picture);
    if (!view->is_whole)
        assert_int_equal(picture.n_lines, view->n_rows);
    for (size_t i = 0; i < picture.n_lines; i++)
        assert_true(width_of(&picture.lines[i]) <= view->n_columns);
    leat_top_picture_deinit(&picture);
}

static void test_pictures(void **state) {
    struct looks *looks = new_looks();
    struct leat_top_view view = {.has_colour = true};

    (void)state;
    for (unsigned i = 0; i < 3000; i++) {
        view.n_rows = (size_t)rand() % 60;
        view.n_columns = (size_t)rand() % 250;
        view.is_whole = i % 50 == 0;
        check_picture(&view, &looks->model);
        leat_top_view_take(&view, &looks->model, (enum leat_top_key)(rand() % LEAT_TOP_KEY_REDRAW));
    }
    free_looks(looks);
}

/* What is printed to no terminal has a line for each, however many there are. */
static void test_many(void **state) {
    enum { N_MANY = 3000 };
    static Leat__StreamStats stats[N_MANY], *list[N_MANY];
    struct looks *looks = new_looks();
    struct leat_top_view view = {.is_whole = true, .n_columns = 80};
    struct leat_top_picture picture;

    (void)state;
    leat_top_model_deinit(&looks->model);
    for (size_t i = 0; i < N_MANY; i++) {
        stats[i] = looks->now.stream[0];
        list[i] = &stats[i];
    }
    looks->now.stats.streams = list;
    looks->now.stats.n_streams = N_MANY;
    assert_int_equal(leat_top_model_init(&looks->model, &looks->now.message, NULL, NULL, NULL), 0);
    leat_top_view_draw(&view, &looks->model, &picture);
    assert_true(picture.n_lines > N_MANY * (1 + 2 + N_STAGES));
    for (size_t i = 0; i < picture.n_lines; i++)
        assert_true(width_of(&picture.lines[i]) <= view.n_columns);
    leat_top_picture_deinit(&picture);
    free_looks(looks);
}

static enum leat_top_key last_key(const char *bytes) {
    enum leat_top_key key = LEAT_TOP_KEY_NONE;
    unsigned state = 0;

    for (; *bytes; bytes++)
        key = leat_top_key_take(&state, (unsigned char)*bytes);
    return key;
}

static void test_keys(void **state) {
    unsigned garbage = 0;

    (void)state;
    assert_int_equal(last_key("\033[A"), LEAT_TOP_KEY_UP);
    assert_int_equal(last_key("\033OB"), LEAT_TOP_KEY_DOWN);
    assert_int_equal(last_key("\033[1;5B"), LEAT_TOP_KEY_DOWN);
    assert_int_equal(last_key("\033[5~"), LEAT_TOP_KEY_PAGE_UP);
    assert_int_equal(last_key("\033[15~"), LEAT_TOP_KEY_NONE);
    assert_int_equal(last_key("\033[Z"), LEAT_TOP_KEY_PREVIOUS);
    assert_int_equal(last_key("\033\033[B"), LEAT_TOP_KEY_DOWN);
    assert_int_equal(last_key("\033[200~q"), LEAT_TOP_KEY_QUIT);
    assert_int_equal(last_key("\t"), LEAT_TOP_KEY_NEXT);
    for (unsigned i = 0; i < 100000; i++)
        assert_true(leat_top_key_take(&garbage, (unsigned char)rand()) <= LEAT_TOP_KEY_REDRAW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),    cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_order),    cmocka_unit_test(test_namesakes),
        cmocka_unit_test(test_pictures), cmocka_unit_test(test_many),
        cmocka_unit_test(test_keys),
    };

    (void)setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
