/* doctor.c: `leatctl doctor`: findings about everything that leat needs, each with a way to mend
 * it. Nothing is written, and the daemon is asked nothing that changes it. */
#include "client/cli/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/output.h"
#include "proto/base/json_writer.h"

static const struct {
    const char *word, *colour;
} states[] = {
    [LEAT_DOCTOR_OK] = {"ok", "\033[32m"},
    [LEAT_DOCTOR_WARN] = {"warn", "\033[33m"},
    [LEAT_DOCTOR_FAIL] = {"fail", "\033[31m"},
    [LEAT_DOCTOR_UNSEEN] = {"unseen", "\033[2m"},
};

static void (*const examinations[])(struct leat_doctor *doctor) = {
    leat_doctor_sockets, leat_doctor_kernel,        leat_doctor_limits,
    leat_doctor_groups,  leat_doctor_daemon,        leat_doctor_unit,
    leat_doctor_tunnels, leat_doctor_configuration, leat_doctor_folders,
};

void leat_doctor_add(struct leat_doctor *doctor, enum leat_doctor_state state, const char *area,
                     const char *name, const char *format, ...) {
    struct leat_doctor_finding *finding = &doctor->findings[doctor->n_findings];
    va_list arguments;

    doctor->was_dropped = doctor->n_findings == LEAT_DOCTOR_FINDINGS_MAX;
    if (doctor->was_dropped)
        return;
    *finding = (struct leat_doctor_finding){.state = state, .area = area};
    (void)snprintf(finding->name, sizeof(finding->name), "%s", name);
    va_start(arguments, format);
    (void)vsnprintf(finding->text, sizeof(finding->text), format, arguments);
    va_end(arguments);
    doctor->n_findings++;
}

void leat_doctor_mend(struct leat_doctor *doctor, const char *format, ...) {
    struct leat_doctor_finding *finding;
    va_list arguments;

    if (doctor->n_findings == 0 || doctor->was_dropped)
        return;
    finding = &doctor->findings[doctor->n_findings - 1];
    if (finding->state == LEAT_DOCTOR_OK)
        return;
    va_start(arguments, format);
    (void)vsnprintf(finding->mend, sizeof(finding->mend), format, arguments);
    va_end(arguments);
}

size_t leat_doctor_count(const struct leat_doctor *doctor, enum leat_doctor_state state) {
    size_t n = 0;

    for (size_t i = 0; i < doctor->n_findings; i++)
        n += doctor->findings[i].state == state;
    return n;
}

/* ---- printing ---- */

static void add_finding(const struct leat_doctor_finding *finding, bool has_colour,
                        struct leat_text *text) {
    const char *word = states[finding->state].word;

    leat_text_add(text, "  %s%-6s%s  %-16s ", has_colour ? states[finding->state].colour : "", word,
                  has_colour ? "\033[0m" : "", finding->name);
    leat_text_add_line(text, "%s", finding->text);
    if (finding->mend[0])
        leat_text_add_line(text, "          to repair: %s", finding->mend);
}

static void add_findings(const struct leat_doctor *doctor, bool has_colour,
                         struct leat_text *text) {
    const char *area = "";

    for (size_t i = 0; i < doctor->n_findings; i++) {
        if (strcmp(area, doctor->findings[i].area) != 0)
            leat_text_add(text, "%s\n", doctor->findings[i].area);
        area = doctor->findings[i].area;
        add_finding(&doctor->findings[i], has_colour, text);
    }
    leat_text_add(
        text, "%zu ok, %zu warnings, %zu failures, %zu not checked\n",
        leat_doctor_count(doctor, LEAT_DOCTOR_OK), leat_doctor_count(doctor, LEAT_DOCTOR_WARN),
        leat_doctor_count(doctor, LEAT_DOCTOR_FAIL), leat_doctor_count(doctor, LEAT_DOCTOR_UNSEEN));
}

static void add_findings_json(const struct leat_doctor *doctor, struct leat_text *json) {
    leat_json_open(json, NULL, '{');
    leat_json_add_bool(json, "ok", leat_doctor_count(doctor, LEAT_DOCTOR_FAIL) == 0);
    leat_json_open(json, "findings", '[');
    for (size_t i = 0; i < doctor->n_findings; i++) {
        const struct leat_doctor_finding *finding = &doctor->findings[i];

        leat_json_line(json);
        leat_json_open(json, NULL, '{');
        leat_json_add_text(json, "area", finding->area);
        leat_json_add_text(json, "name", finding->name);
        leat_json_add_text(json, "state", states[finding->state].word);
        leat_json_add_text(json, "text", finding->text);
        leat_json_add_text(json, "mend", finding->mend);
        leat_json_close(json, '}');
    }
    leat_json_close(json, ']');
    leat_json_close(json, '}');
    leat_text_add(json, "\n");
}

static int doctor_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_doctor *doctor = calloc(1, sizeof(*doctor));
    struct leat_text text = {.data = NULL};
    int status;

    if (!doctor) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    if (leat_doctor_is_tunnel(arguments->operand)) {
        leat_doctor_tunnel(doctor, arguments->operand);
    } else {
        doctor->file = arguments->operand;
        for (size_t i = 0; i < sizeof(examinations) / sizeof(*examinations); i++)
            examinations[i](doctor);
    }
    if (arguments->json)
        add_findings_json(doctor, &text);
    else
        add_findings(doctor, leat_cli_terminal_has_colour(stdout), &text);
    leat_cli_print(&text);
    status = leat_doctor_count(doctor, LEAT_DOCTOR_FAIL) ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
    leat__control_reply__free_unpacked(doctor->reply, NULL);
    free(doctor);
    return status;
}

const struct leat_cli_command leat_cli_doctor_command = {
    .name = "doctor",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "find out why leat does not work here, and how to repair it",
    .description =
        "Checks everything that leat needs. It looks at the kernel, limits, memory, sockets\n"
        "and your permissions. It asks the daemon for its streams, and systemd for the\n"
        "daemon's unit. It checks tunnels, the configuration (or FILE), and the folders of\n"
        "caches and state. If FILE is a configuration of stunnel (NAME.conf), it checks only\n"
        "that tunnel.\n"
        "\n"
        "Each line shows the state of one thing that leat needs. `ok` means that this thing\n"
        "works. `fail` means that it does not work. `warn` means that it works badly, or may\n"
        "soon fail. `unseen` means that the command cannot check it; try again as root. The\n"
        "line \"to repair\" says what to do. The command changes nothing. The exit status is 1\n"
        "if a state is `fail`.",
    .operand = "[FILE]",
    .examples = "  leatctl doctor\n"
                "  leatctl doctor /etc/leat/stunnel.conf\n"
                "  leatctl doctor --json | jq '.findings[] | select(.state == \"fail\")'\n",
    .asks_daemon = true,
    .options = leat_cli_no_options,
    .run = doctor_main,
};
