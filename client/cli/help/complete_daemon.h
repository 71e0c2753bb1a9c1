/* complete_daemon.h: names that the running daemon knows, for who types them. Nothing if there is
 * none, it does not answer soon, or it gives no right to ask. */
#pragma once

typedef void leat_cli_on_name(void *context, const char *name, const char *what);

void leat_cli_daemon_streams(leat_cli_on_name *on_name, void *context);
void leat_cli_daemon_sessions(leat_cli_on_name *on_name, void *context);
void leat_cli_daemon_rooms(leat_cli_on_name *on_name, void *context);
