/* notify.h: a word to the service manager that is not worth waiting for.
 *
 * sd_notify(3) waits while the service manager does not read: one that is busy would stop the loop.
 * What is said again soon anyhow, or does not matter then, is said with this. Any thread.
 */
#pragma once

/* As sd_notify(0, text): at once, or never. 1: said; 0: nobody wants to hear; -errno. */
int leat_notify(const char *text);
