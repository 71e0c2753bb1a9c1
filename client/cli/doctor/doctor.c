/* doctor.c: `leatctl doctor`: whether leat can work here, line by line, with the mend in words. It
 * only looks: nothing is written, and of the daemon nothing is asked that changes it. */
#include "client/cli/doctor/doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/base/arguments.h"
#include "client/cli/base/members.h"
#include "client/cli/base/terminal.h"

static const struct {
    const char *word, *colour;
} states[] = {
    [LEAT_DOCTOR_OK] = {"ok", "\033[32m"},
    [LEAT_DOCTOR_WARN] = {"warn", "\033[33m"},
    [LEAT_DOCTOR_FAIL] = {"fail", "\033[31m"},
    [LEAT_DOCTOR_UNSEEN] = {"unseen", "\033[2m"},
};

static void (*const examinations[])(struct leat_doctor *doctor) = {
    leat_doctor_sockets, leat_doctor_kernel, leat_doctor_limits,        leat_doctor_groups,
    leat_doctor_daemon,  leat_doctor_unit,   leat_doctor_configuration, leat_doctor_folders,
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

static void print_finding(const struct leat_doctor_finding *finding, bool has_colour,
                          struct leat_text *text) {
    const char *word = states[finding->state].word;

    leat_text_add(text, "  %s%-6s%s  %-16s ", has_colour ? states[finding->state].colour : "", word,
                  has_colour ? "\033[0m" : "", finding->name);
    leat_text_add_shown(text, finding->text);
    leat_text_add(text, "\n");
    if (!finding->mend[0])
        return;
    leat_text_add(text, "          mend: ");
    leat_text_add_shown(text, finding->mend);
    leat_text_add(text, "\n");
}

void leat_doctor_print(const struct leat_doctor *doctor, bool has_colour, struct leat_text *text) {
    const char *area = "";

    for (size_t i = 0; i < doctor->n_findings; i++) {
        if (strcmp(area, doctor->findings[i].area) != 0)
            leat_text_add(text, "%s\n", doctor->findings[i].area);
        area = doctor->findings[i].area;
        print_finding(&doctor->findings[i], has_colour, text);
    }
    leat_text_add(
        text, "%zu ok, %zu to be looked at, %zu wrong, %zu not seen from here\n",
        leat_doctor_count(doctor, LEAT_DOCTOR_OK), leat_doctor_count(doctor, LEAT_DOCTOR_WARN),
        leat_doctor_count(doctor, LEAT_DOCTOR_FAIL), leat_doctor_count(doctor, LEAT_DOCTOR_UNSEEN));
}

static void add_member(struct leat_text *text, const char *name, const char *value) {
    leat_text_add(text, ", \"%s\": ", name);
    leat_text_add_json(text, value, strlen(value));
}

void leat_doctor_print_json(const struct leat_doctor *doctor, struct leat_text *text) {
    leat_text_add(text, "{\"ok\": %s, \"findings\": [",
                  leat_doctor_count(doctor, LEAT_DOCTOR_FAIL) ? "false" : "true");
    for (size_t i = 0; i < doctor->n_findings; i++) {
        const struct leat_doctor_finding *finding = &doctor->findings[i];

        leat_text_add(text, "%s{\"area\": \"%s\"", i ? ",\n " : "", finding->area);
        add_member(text, "name", finding->name);
        add_member(text, "state", states[finding->state].word);
        add_member(text, "text", finding->text);
        add_member(text, "mend", finding->mend);
        leat_text_add(text, "}");
    }
    leat_text_add(text, "]}\n");
}

static int doctor_main(const struct leat_cli_arguments *arguments, struct leat_error *err) {
    struct leat_doctor *doctor = calloc(1, sizeof(*doctor));
    struct leat_text text = {.data = NULL};
    int status;

    if (!doctor) {
        leat_error_oom(err);
        return LEAT_CLI_FAILURE;
    }
    doctor->file = arguments->operand;
    for (size_t i = 0; i < sizeof(examinations) / sizeof(*examinations); i++)
        examinations[i](doctor);
    if (arguments->json)
        leat_doctor_print_json(doctor, &text);
    else
        leat_doctor_print(doctor, leat_cli_terminal_has_colour(stdout), &text);
    leat_cli_print(&text);
    status = leat_doctor_count(doctor, LEAT_DOCTOR_FAIL) ? LEAT_CLI_FAILURE : LEAT_CLI_OK;
    if (doctor->reply)
        leat__control_reply__free_unpacked(doctor->reply, NULL);
    free(doctor);
    return status;
}

const struct leat_cli_command leat_cli_doctor_command = {
    .name = "doctor",
    .group = LEAT_CLI_GROUP_DAEMON,
    .summary = "look whether leat can work here, and tell the mend",
    .description =
        "What leat asks of the kernel, limits, memory, sockets and who may use them, the daemon, "
        "its streams and its unit, its\nconfiguration (or FILE), and the folders of caches and of "
        "its state, "
        "as the daemon sees them. Each line is ok,\nwarn (it works, but not well or not for "
        "long), fail (it does not work) or unseen (it cannot be seen from here,\nas root it often "
        "can); what is to be done is told below. Nothing is changed. Exit status 1 if anything "
        "fails.",
    .operand = "[FILE]",
    .examples = "  leatctl doctor\n"
                "  leatctl doctor --json | jq '.findings[] | select(.state == \"fail\")'\n",
    .asks_daemon = true,
    .options = leat_cli_no_options,
    .run = doctor_main,
};
