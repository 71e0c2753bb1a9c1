/* trainers.c: `leatctl streams --trainers`: who pulls batches, and what they wait for. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/daemon/control.h"
#include "client/cli/base/members.h"
#include "client/cli/streams/session_members.h"
#include "client/cli/streams/streams.h"

/* What people read: a line for each. */
struct row {
    uint64_t session;
    const char *stream, *client, *unit;
    uint32_t pid, uid, rank, world, held, window;
    uint64_t epoch, step, n_batches, age_ns;
    char waits[16], holds[16];
    const char *waits_text, *holds_text;
};

static const struct leat_cli_member row_members[] = {
    MEMBER(struct row, session, MEMBER_U64, "session"),
    MEMBER(struct row, stream, MEMBER_TEXT, "stream"),
    MEMBER(struct row, client, MEMBER_TEXT, "client"),
    MEMBER(struct row, pid, MEMBER_U32, "pid"),
    MEMBER(struct row, uid, MEMBER_U32, "uid"),
    MEMBER(struct row, rank, MEMBER_U32, "rank"),
    MEMBER(struct row, world, MEMBER_U32, "world"),
    MEMBER(struct row, epoch, MEMBER_U64, "epoch"),
    MEMBER(struct row, step, MEMBER_U64, "step"),
    MEMBER(struct row, n_batches, MEMBER_U64, "batches"),
    MEMBER(struct row, waits_text, MEMBER_TEXT, "waits"),
    MEMBER(struct row, holds_text, MEMBER_TEXT, "holds all"),
    MEMBER(struct row, age_ns, MEMBER_NS, "age"),
    MEMBER(struct row, unit, MEMBER_TEXT, "unit"),
    MEMBERS_END,
};

static const char *share(uint64_t part_ns, uint64_t all_ns, char buffer[16]) {
    (void)snprintf(buffer, 16, "%.1f %%", all_ns ? 100.0 * (double)part_ns / (double)all_ns : 0.0);
    return buffer;
}

/* Of a control group the last part is what people know. */
static const char *unit_of(const Leat__Trainer *trainer) {
    const char *slash = strrchr(trainer->unit, '/');

    return trainer->is_foreign ? "(container)" : slash ? slash + 1 : trainer->unit;
}

static void fill_row(struct row *row, const Leat__Trainer *trainer) {
    const Leat__Session *session = trainer->session;

    *row = (struct row){.session = session->id,
                        .stream = trainer->stream,
                        .client = session->client_name,
                        .unit = unit_of(trainer),
                        .pid = session->pid,
                        .uid = session->uid,
                        .rank = session->rank,
                        .world = session->world_size,
                        .epoch = session->epoch,
                        .step = session->step,
                        .n_batches = session->n_batches,
                        .age_ns = session->age_ns};
    row->waits_text = share(trainer->wait_ns, session->age_ns, row->waits);
    row->holds_text = share(trainer->hold_ns, session->age_ns, row->holds);
}

static int add_rows(struct leat_text *text, const Leat__TrainersReply *trainers) {
    struct row *rows = calloc(trainers->n_trainers + 1, sizeof(*rows));
    const void **messages = calloc(trainers->n_trainers + 1, sizeof(*messages));
    bool is_there = rows && messages;

    for (size_t i = 0; is_there && i < trainers->n_trainers; i++) {
        fill_row(&rows[i], trainers->trainers[i]);
        messages[i] = &rows[i];
    }
    if (is_there && trainers->n_trainers > 0)
        leat_cli_members_table(text, row_members, messages, trainers->n_trainers);
    else if (is_there)
        leat_text_add(text, "no trainers\n");
    free(rows);
    free(messages);
    return is_there ? 0 : -ENOMEM;
}

static void add_json(struct leat_text *text, const Leat__TrainersReply *trainers) {
    leat_text_add(text, "[");
    for (size_t i = 0; i < trainers->n_trainers; i++) {
        const Leat__Trainer *trainer = trainers->trainers[i];

        leat_text_add(text, i ? ",\n " : "");
        leat_cli_members_json(text, leat_cli_session_members, trainer->session);
        leat_text_add(text, ", \"stream\": ");
        leat_text_add_json(text, trainer->stream, strlen(trainer->stream));
        leat_text_add(text, ", \"wait_ns\": %" PRIu64 ", \"hold_ns\": %" PRIu64 ", \"unit\": ",
                      trainer->wait_ns, trainer->hold_ns);
        leat_text_add_json(text, trainer->unit, strlen(trainer->unit));
        leat_text_add(text, ", \"is_foreign\": %s}", trainer->is_foreign ? "true" : "false");
    }
    leat_text_add(text, "]\n");
}

int leat_cli_streams_trainers(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    Leat__Empty empty = LEAT__EMPTY__INIT;
    Leat__ControlRequest request = LEAT__CONTROL_REQUEST__INIT;
    struct leat_text text = {.data = NULL};
    Leat__ControlReply *reply;
    int status;

    request.verb_case = LEAT__CONTROL_REQUEST__VERB_TRAINERS;
    request.trainers = &empty;
    reply = leat_cli_control(NULL, &request, LEAT__CONTROL_REPLY__VERB_TRAINERS,
                             LEAT_CLI_CONTROL_TIMEOUT_MS, &status, err);
    if (!reply)
        return status;
    if (arguments->json)
        add_json(&text, reply->trainers);
    else if (add_rows(&text, reply->trainers) < 0)
        leat_error_oom(err);
    if (!arguments->json && reply->trainers->n_left > 0)
        leat_text_add(&text, "and %u more\n", reply->trainers->n_left);
    leat_cli_print(&text);
    leat__control_reply__free_unpacked(reply, NULL);
    return err->code ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
}
