/* main.c: leatctl. */
#include "client/cli/program.h"

int main(int argc, char **argv) {
    return leat_cli_main(argc, argv);
}
