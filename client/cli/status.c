/* status.c: `leatctl status`: the daemon's own figures. */
#include "client/cli/base/arguments.h"
#include "client/cli/base/daemon/control.h"
#include "client/cli/base/members.h"

static const struct leat_cli_member status_members[] = {
    MEMBER(Leat__StatusReply, version, MEMBER_TEXT, "version"),
    MEMBER(Leat__StatusReply, pid, MEMBER_ID, "process"),
    MEMBER(Leat__StatusReply, config_file, MEMBER_TEXT, "configuration"),
    MEMBER(Leat__StatusReply, sandbox, MEMBER_TEXT, "sandbox"),
    MEMBER(Leat__StatusReply, is_draining, MEMBER_BOOL, "draining"),
    MEMBER(Leat__StatusReply, uptime_ns, MEMBER_NS, "up"),
    MEMBER(Leat__StatusReply, n_workers, MEMBER_U32, "workers"),
    MEMBER(Leat__StatusReply, n_streams, MEMBER_U32, "streams"),
    MEMBER(Leat__StatusReply, n_sessions, MEMBER_U32, "sessions"),
    MEMBER(Leat__StatusReply, n_refused, MEMBER_U64, "refused"),
    MEMBER(Leat__StatusReply, n_failures, MEMBER_U64, "failures"),
    MEMBER(Leat__StatusReply, n_failing, MEMBER_U32, "streams failing"),
    MEMBER(Leat__StatusReply, n_batches, MEMBER_U64, "batches"),
    MEMBER(Leat__StatusReply, n_rows, MEMBER_U64, "rows"),
    MEMBER(Leat__StatusReply, n_slots, MEMBER_U32, "slots"),
    MEMBER(Leat__StatusReply, n_slots_free, MEMBER_U32, "slots free"),
    MEMBER(Leat__StatusReply, ring_bytes, MEMBER_BYTES, "rings"),
    MEMBER(Leat__StatusReply, rss_bytes, MEMBER_BYTES, "memory"),
    MEMBER(Leat__StatusReply, hwm_bytes, MEMBER_BYTES, "memory, peak"),
    MEMBER(Leat__StatusReply, memory_limit_bytes, MEMBER_LIMIT, "memory limit"),
    MEMBER(Leat__StatusReply, memory_claimed_bytes, MEMBER_BYTES, "claimed"),
    MEMBER(Leat__StatusReply, memory_used_bytes, MEMBER_BYTES, "counted"),
    MEMBER(Leat__StatusReply, memory_peak_bytes, MEMBER_BYTES, "counted, peak"),
    MEMBER(Leat__StatusReply, n_stalled, MEMBER_U32, "tasks stalled"),
    MEMBER(Leat__StatusReply, cpu_ns, MEMBER_NS, "CPU time"),
    MEMBER(Leat__StatusReply, worker_busy_ns, MEMBER_NS, "workers busy"),
    MEMBER(Leat__StatusReply, loop_busy_ns, MEMBER_NS, "loop busy"),
    MEMBER(Leat__StatusReply, loop_longest_ns, MEMBER_NS, "longest turn"),
    MEMBER(Leat__StatusReply, loop_longest_cpu_ns, MEMBER_NS, "longest, CPU"),
    MEMBER(Leat__StatusReply, n_fds, MEMBER_U32, "descriptors"),
    MEMBERS_END,
};

static void add_last_failure(struct leat_text *text, const Leat__Failure *failure) {
    if (!failure)
        return;
    leat_text_add(text, "  %-14s ", "last failure");
    leat_text_add_shown(text, failure->stream);
    leat_text_add(text, ": ");
    leat_cli_failure_text(text, failure);
    leat_text_add(text, "\n");
}

static void add_status(struct leat_text *text, const void *reply,
                       const struct leat_cli_arguments *arguments) {
    const Leat__StatusReply *status = reply;

    (void)arguments;
    leat_text_add(text, "leatd\n");
    leat_cli_members_list(text, status_members, status);
    add_last_failure(text, status->last_failure);
}

static int status_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    return leat_cli_ask(&(struct leat_cli_question){.verb = LEAT__CONTROL_REQUEST__VERB_STATUS,
                                                    .add_text = add_status},
                        arguments, err);
}

const struct leat_cli_command leat_cli_status_command = {
    .name = "status",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "show the state of the daemon",
    .description =
        "Shows the daemon's version, process, load and memory. It shows how often streams have\n"
        "failed, when a trainer opened them or later, and how many streams fail now. It also\n"
        "shows the last error and its time.",
    .examples = "  leatctl status\n"
                "  leatctl status --json\n",
    .asks_daemon = true,
    .options = leat_cli_no_options,
    .run = status_main,
};
