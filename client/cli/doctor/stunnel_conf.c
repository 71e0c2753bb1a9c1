#include "client/cli/doctor/stunnel_conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define LINES_MAX 4096
#define LINE_SIZE (4 * LEAT_STUNNEL_VALUE_SIZE)

static char *trim(char *text) {
    size_t n;

    while (isspace((unsigned char)*text))
        text++;
    for (n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

static int take_line(struct leat_stunnel_conf *conf, char *line) {
    const struct {
        const char *key;
        char *value;
    } options[] = {
        {"client", conf->client},
        {"accept", conf->accept},
        {"connect", conf->connect},
        {"cert", conf->cert},
        {"CAfile", conf->ca_file},
        {"CApath", conf->ca_path},
        {"verifyChain", conf->verify_chain},
        {"verifyPeer", conf->verify_peer},
        {"requireCert", conf->require_cert},
        {"checkHost", conf->check_host},
        {"checkIP", conf->check_ip},
    };
    char *equals = strchr(line, '='), *value;

    if (!equals)
        return 0;
    *equals = '\0';
    value = trim(equals + 1);
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        if (strcasecmp(trim(line), options[i].key) == 0) {
            if (strlen(value) >= LEAT_STUNNEL_VALUE_SIZE)
                return -EFBIG;
            memcpy(options[i].value, value, strlen(value) + 1);
        }
    return 0;
}

int leat_stunnel_conf_read(FILE *file, struct leat_stunnel_conf *ret_conf) {
    char line[LINE_SIZE];
    unsigned n_services = 0, n_lines = 0;
    int r = 0;

    *ret_conf = (struct leat_stunnel_conf){.client = ""};
    while (r == 0 && n_services < 2 && fgets(line, sizeof(line), file)) {
        bool is_cut = strlen(line) == sizeof(line) - 1 && line[sizeof(line) - 2] != '\n';
        char *text = trim(line);

        if (++n_lines > LINES_MAX || is_cut)
            r = -EFBIG;
        else if (*text == '[')
            n_services++;
        else if (*text != ';' && *text != '#')
            r = take_line(ret_conf, text);
    }
    return r == 0 && ferror(file) ? -errno : r;
}
