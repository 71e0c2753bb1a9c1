/* flood: connects to a socket and hangs up, as fast as it can.
 *
 *     flood SOCKET seqpacket|stream N [BYTES]
 *
 * N times; before it hangs up it sends so many bytes of nonsense. Who cannot connect tries the next
 * time. Exit status 0, whatever the daemon did.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BYTES_MAX 4096

static void connect_once(const struct sockaddr_un *address, int type, size_t n_bytes) {
    static const char nonsense[BYTES_MAX] = "nonsense";
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 && n_bytes > 0)
        (void)send(fd, nonsense, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)close(fd);
}

int main(int argc, char **argv) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n_bytes = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;

    if (argc < 4 || strlen(argv[1]) >= sizeof(address.sun_path) || n_bytes > BYTES_MAX) {
        fprintf(stderr, "usage: flood SOCKET seqpacket|stream N [BYTES]\n");
        return 2;
    }
    strcpy(address.sun_path, argv[1]);
    for (unsigned long n = strtoul(argv[3], NULL, 10); n > 0; n--)
        connect_once(&address, strcmp(argv[2], "stream") ? SOCK_SEQPACKET : SOCK_STREAM, n_bytes);
    return 0;
}
