/* tunnels.c: stunnel and ssh, through which trainers reach the daemon of another machine: the files
 * and units of config/tunnel. Of a file with several services the first is examined. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/doctor/doctor.h"
#include "client/cli/doctor/tunnels.h"

#define AREA       "tunnels"
#define STUNNELS   "/etc/leat/stunnel*.conf"
#define SSHS       "/etc/systemd/system/*.wants/leat-ssh@*.service"
#define SOON       "1209600" /* seconds: 14 days */
#define NO_PROGRAM 127
#define VERIFY_MEND                                                                                \
    "set verifyChain = yes and CAfile = /etc/leat/tls/ca.pem in %s, as in config/tunnel"

static int read_conf(const char *path, struct leat_stunnel_conf *ret_conf) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold it up */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    int r = file ? leat_stunnel_conf_read(file, ret_conf) : -errno;

    if (file)
        (void)fclose(file);
    else if (fd >= 0)
        (void)close(fd);
    return r;
}

static bool is_yes(const char *value) {
    return strcasecmp(value, "yes") == 0;
}

/* ---- findings ---- */

static int try_socket(const char *path) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    int fd, r = 0;

    if (strlen(path) >= sizeof(place.sun_path))
        return -ENAMETOOLONG;
    memcpy(place.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&place, sizeof(place)) < 0)
        r = -errno;
    if (fd >= 0)
        (void)close(fd);
    return r;
}

/* unit: what makes the socket. */
static void examine_socket(struct leat_doctor *doctor, const char *path, const char *unit) {
    int r = try_socket(path);

    if (r == 0 || r == -EAGAIN)
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, AREA, "socket", "%s accepts connections", path);
    else if (r == -EACCES)
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, AREA, "socket", "you may not connect to %s",
                        path);
    else
        leat_doctor_add(doctor, LEAT_DOCTOR_FAIL, AREA, "socket", "nothing listens at %s: %s", path,
                        strerror(-r));
    leat_doctor_mend(doctor,
                     r == -EACCES ? "join the group leat-clients: usermod -aG leat-clients USER"
                                  : "systemctl enable --now %s",
                     unit);
}

/* Runs openssl without its output. Returns its status; NO_PROGRAM: it is not there. */
static int run_openssl(const char *const words[]) {
    posix_spawn_file_actions_t actions;
    char *environment[] = {NULL};
    int status = 0, r;
    pid_t pid;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return NO_PROGRAM;
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int fd = STDOUT_FILENO; r == 0 && fd <= STDERR_FILENO; fd++)
        r = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)words, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r != 0 || waitpid(pid, &status, 0) < 0)
        return NO_PROGRAM;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void examine_certificate(struct leat_doctor *doctor, const char *path,
                                const struct leat_stunnel_conf *conf) {
    const char *const look[] = {"openssl", "x509", "-in", conf->cert, "-noout", NULL};
    const char *const ends[] = {"openssl", "x509",      "-in", conf->cert,
                                "-noout",  "-checkend", "0",   NULL};
    const char *const ends_soon[] = {"openssl", "x509",      "-in", conf->cert,
                                     "-noout",  "-checkend", SOON,  NULL};
    const char *const verify[] = {"openssl",    "verify",   "-CAfile",  conf->ca_file,
                                  "-untrusted", conf->cert, conf->cert, NULL};
    enum leat_doctor_state state = LEAT_DOCTOR_FAIL;
    const char *what;
    struct stat status;
    int code = conf->cert[0] && stat(conf->cert, &status) < 0 ? errno : 0, is_there;

    is_there = code == 0 && conf->cert[0] && S_ISREG(status.st_mode) ? run_openssl(look) : 1;
    if (!conf->cert[0])
        what = "no certificate is set, so the other side refuses the connection";
    else if (code != 0)
        what = strerror(code);
    else if (access(conf->cert, R_OK) < 0 || is_there == NO_PROGRAM) {
        state = LEAT_DOCTOR_UNSEEN;
        what = is_there == NO_PROGRAM
                   ? "doctor needs openssl to read this file, but it is not installed"
                   : "you may not read this file";
    } else if (is_there != 0)
        what = "this file is not a certificate in PEM format";
    else if (run_openssl(ends) != 0)
        what = "the certificate has expired";
    else if (conf->ca_file[0] && run_openssl(verify) != 0)
        what = "the certificate is not signed by the CA in CAfile, or is not valid yet";
    else {
        state = run_openssl(ends_soon) != 0 ? LEAT_DOCTOR_WARN : LEAT_DOCTOR_OK;
        what = state == LEAT_DOCTOR_OK ? "the certificate is valid"
                                       : "the certificate expires within 14 days";
    }
    leat_doctor_add(doctor, state, AREA, "certificate", "%s: %s",
                    conf->cert[0] ? conf->cert : "cert", what);
    leat_doctor_mend(doctor,
                     "get a new certificate from the CA, put it at the path in the line `cert` of "
                     "%s, and restart the unit",
                     path);
}

static void examine_verification(struct leat_doctor *doctor, const char *path,
                                 const struct leat_stunnel_conf *conf) {
    bool is_client = is_yes(conf->client);
    bool has_verified = (is_yes(conf->verify_chain) || is_yes(conf->verify_peer)) &&
                        strcasecmp(conf->require_cert, "no") != 0;

    if (!has_verified || (!conf->ca_file[0] && !conf->ca_path[0])) {
        leat_doctor_add(
            doctor, LEAT_DOCTOR_FAIL, AREA, "verification",
            is_client
                ? "%s: the tunnel would trust any machine that pretends to be the daemon's machine"
                : "%s: everybody who can reach the port gets batches",
            path);
        leat_doctor_mend(doctor, VERIFY_MEND, path);
    } else if (is_client && !is_yes(conf->verify_peer) && !conf->check_host[0] &&
               !conf->check_ip[0]) {
        leat_doctor_add(doctor, LEAT_DOCTOR_WARN, AREA, "verification",
                        "%s: the tunnel would trust any machine with a certificate from the CA",
                        path);
        leat_doctor_mend(doctor, "set checkHost = HOST in %s", path);
    } else {
        leat_doctor_add(doctor, LEAT_DOCTOR_OK, AREA, "verification",
                        "%s: the tunnel verifies the other side", path);
    }
}

static void examine_running(struct leat_doctor *doctor, const char *name) {
    struct leat_doctor_unit unit;

    if (!leat_doctor_read_unit(name, &unit)) {
        leat_doctor_add(doctor, LEAT_DOCTOR_UNSEEN, AREA, name,
                        "systemd does not run or does not answer here");
        return;
    }
    leat_doctor_add(doctor, strcmp(unit.active, "active") == 0 ? LEAT_DOCTOR_OK : LEAT_DOCTOR_FAIL,
                    AREA, name, "it is %s; systemd has restarted it %s times", unit.active,
                    unit.restarts);
    leat_doctor_mend(doctor,
                     "start it with systemctl enable --now %s; find the reason in journalctl -u %s",
                     name, name);
}

void leat_doctor_tunnel(struct leat_doctor *doctor, const char *path) {
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const char *dash = strchr(file, '-');
    struct leat_stunnel_conf conf;
    char unit[160];
    int r = read_conf(path, &conf);

    if (r < 0) {
        leat_doctor_add(doctor, r == -EACCES ? LEAT_DOCTOR_UNSEEN : LEAT_DOCTOR_FAIL, AREA,
                        "configuration", "%s: %s", path, strerror(-r));
        leat_doctor_mend(doctor, "write this file as in the examples of config/tunnel");
        return;
    }
    if (dash)
        (void)snprintf(unit, sizeof(unit), "leat-stunnel@%.*s.service",
                       (int)(strlen(dash + 1) - strlen(".conf")), dash + 1);
    else
        (void)snprintf(unit, sizeof(unit), "leat-stunnel.service");
    examine_socket(doctor, is_yes(conf.client) ? conf.accept : conf.connect,
                   is_yes(conf.client) ? unit : "leatd-copy.socket");
    examine_certificate(doctor, path, &conf);
    examine_verification(doctor, path, &conf);
    examine_running(doctor, unit);
}

/* path: of a unit that is enabled. */
static void examine_ssh(struct leat_doctor *doctor, const char *path) {
    const char *unit = strrchr(path, '/') + 1, *name = strchr(unit, '@') + 1;
    char socket_path[LEAT_STUNNEL_VALUE_SIZE];

    (void)snprintf(socket_path, sizeof(socket_path), "/run/leat-%.*s/copy.sock",
                   (int)(strlen(name) - strlen(".service")), name);
    examine_socket(doctor, socket_path, unit);
    examine_running(doctor, unit);
}

static void examine_all(struct leat_doctor *doctor, const char *pattern,
                        void (*examine)(struct leat_doctor *, const char *)) {
    glob_t found;

    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        examine(doctor, found.gl_pathv[i]);
    globfree(&found);
}

bool leat_doctor_is_tunnel(const char *file) {
    size_t n = file ? strlen(file) : 0, n_end = strlen(".conf");

    return n > n_end && strcmp(file + n - n_end, ".conf") == 0;
}

void leat_doctor_tunnels(struct leat_doctor *doctor) {
    examine_all(doctor, STUNNELS, leat_doctor_tunnel);
    examine_all(doctor, SSHS, examine_ssh);
}

/* ---- stunnel.conf ---- */

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
