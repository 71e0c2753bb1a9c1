/* test_feed_tuner.c: daemon/stream/feed_tuner.c: of what the tuner is told, when trainers wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/stream/consumer.h"
#include "daemon/stream/feed.h"

static struct leat_feed feed;
static struct leat_consumer consumers[2];
static bool waits[2];

static bool is_starved(const struct leat_consumer *consumer) {
    return waits[consumer - consumers];
}

static const struct leat_consumer_ops ops = {.is_starved = is_starved};

/* Both have room for batches, and there are none. */
static int set_up(void **state) {
    (void)state;
    feed = (struct leat_feed){
        .broadcast_run = {.readers = &consumers[0].reader, .n_readers = 2, .n_hungry = 2}};
    for (int i = 0; i < 2; i++) {
        consumers[i] = (struct leat_consumer){
            .ops = &ops, .reader = {.run = &feed.broadcast_run, .is_hungry = true}};
        waits[i] = false;
    }
    consumers[0].reader.next_reader = &consumers[1].reader;
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
    waits[1] = true;
    leat_feed_tuner_note_waits(&feed, 100);
    waits[0] = true; /* one more counts once */
    leat_feed_tuner_note_waits(&feed, 150);
    waits[1] = false;
    leat_feed_tuner_note_waits(&feed, 200);
    assert_true(feed.tuner.is_starved);
    waits[0] = false;
    leat_feed_tuner_note_waits(&feed, 300);
    assert_false(feed.tuner.is_starved);
    assert_int_equal(feed.tuner.starved_ns, 200);
    waits[0] = true;
    leat_feed_tuner_note_waits(&feed, 400);
    feed.broadcast_run.readers = NULL; /* it went to another run */
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
