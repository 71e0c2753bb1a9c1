/* consumer.c: see consumer.h. The clock is read only if no batch is ready. */
#include "client/cli/base/consumer.h"

#include <errno.h>

#include "client/cli/base/interrupt.h"
#include "proto/base/clock.h"

static int timeout_ms(const struct leat_cli_consumer *consumer, uint64_t now_ns) {
    uint64_t ms;

    if (consumer->deadline_ns == 0)
        return -1;
    if (consumer->deadline_ns <= now_ns)
        return 0;
    ms = (consumer->deadline_ns - now_ns + 999999) / 1000000;
    return ms < 1000000 ? (int)ms : 1000000;
}

static int next_batch(struct leat_cli_consumer *consumer, struct leat_stream *stream,
                      struct leat_batch **ret_batch) {
    int r = leat_stream_next(stream, 0, ret_batch);
    uint64_t start_ns;

    if (r != -EAGAIN)
        return r;
    start_ns = leat_now_ns();
    r = leat_stream_next(stream, timeout_ms(consumer, start_ns), ret_batch);
    consumer->wait_ns += leat_now_ns() - start_ns;
    return r;
}

static bool can_go_on(int r) {
    return r == -EINTR || r == -ETIMEDOUT || r == -EAGAIN;
}

int leat_cli_consume(struct leat_cli_consumer *consumer, struct leat_stream *stream,
                     struct leat_error *err) {
    for (;;) {
        struct leat_batch *batch;
        int r = next_batch(consumer, stream, &batch);
        bool is_enough = false;

        if (r < 0 && !can_go_on(r)) {
            *err = *leat_stream_error(stream);
            return r;
        }
        if (r == LEAT_END_EPOCH || r == LEAT_END)
            consumer->n_epochs++;
        if (r == LEAT_END)
            return r;
        if (r == 0) {
            is_enough = !consumer->on_batch(consumer, batch);
            leat_batch_release(batch);
        }
        if (leat_cli_interrupt_seen())
            return leat_error_set(err, -EINTR, "interrupted");
        if (is_enough || (consumer->deadline_ns && leat_now_ns() >= consumer->deadline_ns))
            return 0;
    }
}
