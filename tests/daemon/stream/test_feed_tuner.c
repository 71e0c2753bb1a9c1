/* test_feed_tuner.c: daemon/stream/feed_tuner.c: of what the tuner is told, when trainers wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/stream/feed.h"
#include "daemon/trainer/session.h"

static struct leat_feed feed;
static struct leat_session sessions[2];

/* Both have room for batches, and there are none. */
static int set_up(void **state) {
    (void)state;
    feed = (struct leat_feed){
        .hub_run = {.sessions = &sessions[0].hub, .n_sessions = 2, .n_hungry = 2}};
    for (int i = 0; i < 2; i++)
        sessions[i] = (struct leat_session){.hub = {.run = &feed.hub_run, .is_hungry = true}};
    sessions[0].hub.next_session = &sessions[1].hub;
    return 0;
}

/* At the end of an epoch, of which they have batches that they did not take yet. */
static void test_end_of_epoch(void **state) {
    (void)state;
    leat_feed_tuner_note_waits(&feed, 100);
    assert_false(feed.tuner.is_starved);
    leat_feed_tuner_note_waits(&feed, 300);
    assert_int_equal(feed.tuner.starved_ns, 0);
}

static void test_waits(void **state) {
    (void)state;
    sessions[1].wait_start_ns = 100;
    leat_feed_tuner_note_waits(&feed, 100);
    sessions[0].wait_start_ns = 150; /* one more counts once */
    leat_feed_tuner_note_waits(&feed, 150);
    sessions[1].wait_start_ns = 0;
    leat_feed_tuner_note_waits(&feed, 200);
    assert_true(feed.tuner.is_starved);
    sessions[0].wait_start_ns = 0;
    leat_feed_tuner_note_waits(&feed, 300);
    assert_false(feed.tuner.is_starved);
    assert_int_equal(feed.tuner.starved_ns, 200);
    sessions[0].wait_start_ns = 400;
    leat_feed_tuner_note_waits(&feed, 400);
    feed.hub_run.sessions = NULL; /* it went to another run */
    leat_feed_tuner_note_waits(&feed, 450);
    assert_int_equal(feed.tuner.starved_ns, 250);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_end_of_epoch, set_up),
        cmocka_unit_test_setup(test_waits, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
