/* main.c: leat-fetch. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "daemon/fetch/server.h"
#include "daemon/net/service_manager.h"
#include "proto/fetch.h"

#define BACKLOG     128
#define DESCRIPTORS 16384 /* as its unit allows */

static const char help[] =
    "leat-fetch reads objects from stores and web servers for leatd and leatctl.\n"
    "\n"
    "  leat-fetch [--config FILE] --socket PATH\n"
    "\n"
    "  --config FILE  a file with settings of leatd; leat-fetch reads only the settings below "
    "`fetch`\n"
    "                 (default: $LEAT_FETCH_CONFIG)\n"
    "  --socket PATH  the socket for clients; leave it out if systemd opens the socket\n"
    "  --private      only programs that start a private leat-fetch pass this option\n"
    "  --help         print this help, and exit\n"
    "  --version      print the version, and exit\n"
    "\n"
    "leat-fetch finds credentials in the environment, in ~/.aws, or in the role of the instance:\n"
    "see leat-fetch(8).\n";

struct options {
    const char *config, *socket;
    bool is_private;
};

static volatile int is_stopped;

static void on_signal(int number) {
    (void)number;
    is_stopped = 1;
}

static int complain(const struct leat_error *err) {
    char text[LEAT_ERROR_PRINT_MAX];

    (void)leat_error_print(err, text, sizeof(text));
    (void)fprintf(stderr, "leat-fetch: %s\n", text);
    return err->file[0] ? EX_CONFIG : EXIT_FAILURE;
}

/* Takes the place of what a process left there that has ended. */
static int listen_at(const char *path, struct leat_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(address.sun_path))
        return leat_error_set(err, -ENAMETOOLONG, "%s: the path is too long for a socket", path);
    (void)strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 &&
        errno == ECONNREFUSED)
        (void)unlink(path);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    leat_error_set(err, -errno, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return err->code;
}

/* True for a Unix socket of sequenced packets that takes connections. */
static bool is_listening(int fd) {
    static const struct {
        int option, value;
    } wanted[] = {{SO_DOMAIN, AF_UNIX}, {SO_TYPE, SOCK_SEQPACKET}, {SO_ACCEPTCONN, 1}};

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        int value = -1;
        socklen_t size = sizeof(value);

        if (getsockopt(fd, SOL_SOCKET, wanted[i].option, &value, &size) < 0 ||
            value != wanted[i].value)
            return false;
    }
    return true;
}

/* The socket of the service manager, the one that is named, or none. */
static int take_listener(const struct options *options, struct leat_error *err) {
    struct leat_passed_sockets passed;
    int r = leat_passed_sockets_take(&passed), fd = LEAT_PASSED_FD;

    if (r < 0)
        return leat_error_set(
            err, r, "leat-fetch cannot use the sockets of the service manager: %s", strerror(-r));
    if (passed.n > 1)
        return leat_error_set(
            err, -EINVAL, "the service manager passes %d sockets, but leat-fetch needs exactly one",
            passed.n);
    if (passed.n == 1 && !is_listening(fd))
        return leat_error_set(
            err, -EINVAL,
            "the socket from the service manager has the wrong type: set ListenSequentialPacket=");
    if (passed.n == 1)
        return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? leat_error_set(err, -errno, "fcntl") : fd;
    if (options->socket)
        return listen_at(options->socket, err);
    return leat_error_set(err, -EINVAL, "the option --socket PATH is missing");
}

/* No secret comes into a core or to another process of the user. */
static void keep_secrets(void) {
    struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)umask(0077);
}

/* Each client and each request takes a descriptor. */
static void allow_descriptors(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int serve(const struct options *options) {
    struct leat_error err = LEAT_ERROR_INIT;
    struct leat_fetch_settings settings;
    struct leat_fetch_server server;
    struct leat_value document;
    int listener = -1, r = leat_fetch_settings_load(options->config, &settings, &document, &err);

    if (r == 0 && !options->is_private)
        r = listener = take_listener(options, &err);
    if (r >= 0) {
        r = leat_fetch_server_init(&server, &settings, listener,
                                   options->is_private ? LEAT_FETCH_PRIVATE_FD : -1, &err);
        if (r == 0 && !options->is_private)
            (void)leat_notify("READY=1");
        if (r == 0)
            r = leat_fetch_server_run(&server, &is_stopped, &err);
        leat_fetch_server_deinit(&server);
    }
    leat_config_deinit(&settings.base);
    leat_value_deinit(&document);
    return r < 0 ? complain(&err) : EXIT_SUCCESS;
}

static int parse(struct options *options, int argc, char **argv) {
    static const struct option known[] = {
        {"config", required_argument, NULL, 'c'}, {"socket", required_argument, NULL, 's'},
        {"private", no_argument, NULL, 'p'},      {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},      {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0)
        switch (option) {
        case 'c':
            options->config = optarg;
            break;
        case 's':
            options->socket = optarg;
            break;
        case 'p':
            options->is_private = true;
            break;
        case 'h':
            (void)fputs(help, stdout);
            return 0;
        case 'v':
            (void)puts("leat-fetch " LEAT_VERSION);
            return 0;
        default:
            return -EINVAL;
        }
    if (optind == argc)
        return 1;
    (void)fprintf(stderr, "leat-fetch: unknown argument \"%s\"; see leat-fetch --help\n",
                  argv[optind]);
    return -EINVAL;
}

int main(int argc, char **argv) {
    struct options options = {.config = getenv(LEAT_FETCH_CONFIG_NAME)};
    struct sigaction action = {.sa_handler = on_signal};
    int r = parse(&options, argc, argv);

    if (r <= 0)
        return r < 0 ? EX_USAGE : EXIT_SUCCESS;
    if (options.is_private && fcntl(LEAT_FETCH_PRIVATE_FD, F_SETFD, FD_CLOEXEC) < 0) {
        (void)fprintf(stderr,
                      "leat-fetch: only programs that start leat-fetch may use --private\n");
        return EX_USAGE;
    }
    keep_secrets();
    allow_descriptors();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return EXIT_FAILURE;
    r = serve(&options);
    curl_global_cleanup();
    (void)prctl(PR_SET_DUMPABLE, 1); /* no secret is left */
    return r;
}
