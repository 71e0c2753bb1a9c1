#include "daemon/metrics/page.h"

/* Each file is one array; made by daemon/CMakeLists.txt. */
#include "page_status_css.def"
#include "page_status_html.def"
#include "page_status_js.def"

const struct leat_page_file leat_page_files[] = {
    {"/", "text/html; charset=utf-8", page_status_html, sizeof(page_status_html)},
    {"/status.css", "text/css; charset=utf-8", page_status_css, sizeof(page_status_css)},
    {"/status.js", "text/javascript; charset=utf-8", page_status_js, sizeof(page_status_js)},
    {.path = NULL},
};
