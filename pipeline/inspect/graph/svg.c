/* graph/svg.c: a graph as a picture (SVG 1.1), drawn without help from other programs.
 *
 * The way to the trainer goes down one lane of boxes of the same width, with frames around those
 * that share a job; sources stand side by side above it, side outputs in a lane to the right, and
 * stages without work below. Boxes grow with their lines, which are wrapped for a font of fixed
 * width, so nothing lies on anything else. Colours suit light and dark pages. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/inspect/graph/draw.h"

enum {
    MARGIN = 16,
    FRAME_PAD = 12,
    HEADING = 22,
    LANE_X = MARGIN + FRAME_PAD,
    LANE_WIDTH = 640,
    ARROW_X = LANE_X + 20,
    LABEL_X = ARROW_X + 14,
    GAP = 96, /* between the lanes */
    SIDE_X = LANE_X + LANE_WIDTH + GAP,
    SIDE_WIDTH = 300,
    ALONE_WIDTH = LANE_X + LANE_WIDTH + FRAME_PAD + MARGIN,
    WIDTH = SIDE_X + SIDE_WIDTH + MARGIN,
    LINE = 15, /* from one line to the next */
    PAD = 8,   /* within boxes */
    SOURCES_SHOWN = 4,
    SOURCE_GAP = 12,
};
#define COLUMN_WIDTH 6.8 /* of a character of 11 px */

struct box {
    int x, y, width, height; /* width 0: it is not shown */
};

struct drawing {
    const struct leat_graph *graph;
    const struct leat_forecast *forecast;
    struct leat_text *text;
    struct box *boxes; /* [n_nodes] */
    int y, side_y;     /* next free place of the lanes */
    bool has_sides;
};

/* ---- texts ---- */

static void add_escaped(struct leat_text *text, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        switch (bytes[i]) {
        case '&':
            leat_text_add(text, "&amp;");
            break;
        case '<':
            leat_text_add(text, "&lt;");
            break;
        case '>':
            leat_text_add(text, "&gt;");
            break;
        case '"':
            leat_text_add(text, "&quot;");
            break;
        default:
            leat_text_add_bytes(text, &bytes[i], 1);
        }
}

static void add_line(struct drawing *drawing, int x, int y, const char *class, const char *bytes,
                     size_t n) {
    leat_text_add(drawing->text, "<text x=\"%d\" y=\"%d\" class=\"%s\" xml:space=\"preserve\">", x,
                  y, class);
    add_escaped(drawing->text, bytes, n);
    leat_text_add(drawing->text, "</text>\n");
}

/* Paragraphs from y on, or only how many lines they are: x < 0. */
static int add_lines(struct drawing *drawing, int x, int y, int width, const char *at) {
    size_t n_columns = (size_t)((double)width / COLUMN_WIDTH);
    int n_lines = 0;

    while (*at) {
        size_t n = strcspn(at, "\n");

        for (size_t fits; n > 0; at += fits, n -= fits) {
            fits = leat_graph_wrap(at, n, n_columns);
            if (x >= 0)
                add_line(drawing, x, y + n_lines * LINE + 11, "l", at, fits);
            n_lines++;
        }
        at += *at == '\n';
    }
    return n_lines;
}

/* ---- boxes ---- */

static void add_box(struct drawing *drawing, const struct box *box, const char *class) {
    leat_text_add(drawing->text,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\" class=\"%s\"/>\n",
                  box->x, box->y, box->width, box->height, class);
}

static void add_title(struct drawing *drawing, const struct box *box, uint32_t index) {
    const struct leat_graph_node *node = &drawing->graph->nodes[index];
    struct leat_text title = {.data = NULL};

    leat_graph_add_clean(&title, node->name);
    leat_text_add(&title, "%s",
                  node->is_half      ? ", first half"
                  : node->is_hoisted ? ", moved forward"
                                     : "");
    if (title.data)
        add_line(drawing, box->x + PAD, box->y + PAD + 11, "t", title.data,
                 leat_graph_wrap(title.data, title.n_bytes,
                                 (size_t)((double)(box->width - 2 * PAD) / COLUMN_WIDTH)));
    leat_text_end_part(drawing->text, &title);
}

/* A node with its lines at that place; its box grows down. */
static void place_node(struct drawing *drawing, uint32_t index, int x, int y, int width) {
    struct leat_text label = {.data = NULL};
    struct box *box = &drawing->boxes[index];
    const char *lines;
    int inner = width - 2 * PAD;

    leat_graph_add_label(&label, drawing->graph, index, drawing->forecast);
    lines = label.data ? label.data : "";
    *box = (struct box){.x = x, .y = y, .width = width};
    box->height = 2 * PAD + (1 + add_lines(drawing, -1, 0, inner, lines)) * LINE;
    add_box(drawing, box, drawing->graph->nodes[index].role == LEAT_GRAPH_IDLE ? "b i" : "b");
    add_title(drawing, box, index);
    (void)add_lines(drawing, x + PAD, y + PAD + LINE, inner, lines);
    leat_text_end_part(drawing->text, &label);
}

/* ---- arrows ---- */

/* Writes the label of the edge into the node. */
static void add_flow(struct drawing *drawing, uint32_t to) {
    const struct leat_graph *graph = drawing->graph;
    struct leat_text label = {.data = NULL};

    for (uint32_t i = 0; i < graph->n_edges; i++)
        if (graph->edges[i].to == to && !graph->edges[i].is_side) {
            leat_graph_add_edge_label(&label, &graph->edges[i]);
            break;
        }
    drawing->y += 6;
    drawing->y += LINE * add_lines(drawing, LABEL_X, drawing->y, LANE_WIDTH - (LABEL_X - LANE_X),
                                   label.data ? label.data : "");
    drawing->y += 6;
    leat_text_end_part(drawing->text, &label);
}

/* Arrows down the lane. */
static void add_arrows(struct drawing *drawing) {
    const struct leat_graph *graph = drawing->graph;

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const struct leat_graph_edge *edge = &graph->edges[i];
        const struct box *from = &drawing->boxes[edge->from], *to = &drawing->boxes[edge->to];

        if (edge->is_side || from->width == 0 || to->width == 0)
            continue;
        if (from->x == LANE_X)
            leat_text_add(drawing->text,
                          "<path d=\"M%d %dV%d\" class=\"a\" marker-end=\"url(#h)\"/>\n", ARROW_X,
                          from->y + from->height, to->y - 1);
        else /* a source that stands beside the first */
            leat_text_add(drawing->text, "<path d=\"M%d %dv6H%d\" class=\"a\"/>\n", from->x + 20,
                          from->y + from->height, ARROW_X);
    }
}

/* Arrows between the lanes, each at its own distance. */
static void add_side_arrows(struct drawing *drawing) {
    const struct leat_graph *graph = drawing->graph;
    int turn = LANE_X + LANE_WIDTH + FRAME_PAD + 14, shift = 0;

    for (uint32_t i = 0; i < graph->n_edges; i++) {
        const struct leat_graph_edge *edge = &graph->edges[i];
        const struct box *from = &drawing->boxes[edge->from], *to = &drawing->boxes[edge->to];
        bool is_out = from->x < to->x;

        if (!edge->is_side || from->width == 0 || to->width == 0)
            continue;
        leat_text_add(drawing->text,
                      "<path d=\"M%d %dH%dV%dH%d\" class=\"a s\" marker-end=\"url(#h)\"/>\n",
                      is_out ? from->x + from->width : from->x, from->y + 14 + shift, turn,
                      to->y + 14 + shift, is_out ? to->x - 1 : to->x + to->width + 1);
        turn += 20;
        shift += 7;
    }
}

/* ---- parts ---- */

static void draw_sources(struct drawing *drawing) {
    const struct leat_graph *graph = drawing->graph;
    int n = (int)graph->plan->n_sources, n_shown = n < SOURCES_SHOWN ? n : SOURCES_SHOWN;
    int width = (LANE_WIDTH - (n_shown - 1) * SOURCE_GAP) / n_shown, height = 0;
    char more[64];

    for (int i = 0; i < n_shown; i++) {
        place_node(drawing, (uint32_t)i, LANE_X + i * (width + SOURCE_GAP), drawing->y, width);
        if (drawing->boxes[i].height > height)
            height = drawing->boxes[i].height;
    }
    drawing->y += height;
    if (n <= n_shown)
        return;
    (void)snprintf(more, sizeof(more), "and %d more sources", n - n_shown);
    drawing->y += LINE * add_lines(drawing, LABEL_X, drawing->y + 6, LANE_WIDTH, more) + 6;
}

static void draw_segment(struct drawing *drawing, const struct leat_graph_segment *segment) {
    struct box frame = {.x = MARGIN, .width = LANE_WIDTH + 2 * FRAME_PAD};
    struct leat_text heading = {.data = NULL};

    add_flow(drawing, segment->first);
    frame.y = drawing->y;
    leat_text_add(&heading, "%s: %s", segment->name, segment->where);
    if (heading.data)
        add_line(drawing, LABEL_X, frame.y + 15, "g", heading.data, heading.n_bytes);
    leat_text_end_part(drawing->text, &heading);
    drawing->y += HEADING;
    for (uint32_t i = segment->first; i < segment->first + segment->n_nodes; i++) {
        if (i > segment->first)
            add_flow(drawing, i);
        place_node(drawing, i, LANE_X, drawing->y, LANE_WIDTH);
        drawing->y += drawing->boxes[i].height;
    }
    drawing->y += FRAME_PAD;
    frame.height = drawing->y - frame.y;
    add_box(drawing, &frame, "f");
}

/* Side outputs stand beside the map segment, one below the other. */
static void draw_sides(struct drawing *drawing) {
    const struct leat_graph *graph = drawing->graph;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        enum leat_graph_role role = graph->nodes[i].role;

        if (role == LEAT_GRAPH_PARSE)
            drawing->side_y = drawing->boxes[i].y;
        if (role != LEAT_GRAPH_CACHE && role != LEAT_GRAPH_QUARANTINE)
            continue;
        place_node(drawing, i, SIDE_X, drawing->side_y, SIDE_WIDTH);
        drawing->side_y += drawing->boxes[i].height + 24;
        drawing->has_sides = true;
    }
}

static void draw_loose(struct drawing *drawing, enum leat_graph_role role) {
    const struct leat_graph *graph = drawing->graph;

    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        if (graph->nodes[i].role != role)
            continue;
        if (role == LEAT_GRAPH_TRAINER)
            add_flow(drawing, i);
        else
            drawing->y += SOURCE_GAP;
        place_node(drawing, i, LANE_X, drawing->y, LANE_WIDTH);
        drawing->y += drawing->boxes[i].height;
    }
}

static void draw(struct drawing *drawing) {
    const struct leat_graph *graph = drawing->graph;

    drawing->y = MARGIN + 28;
    draw_sources(drawing);
    for (uint32_t i = 0; i < graph->n_segments; i++) {
        enum leat_graph_role role = graph->nodes[graph->segments[i].first].role;

        if (role != LEAT_GRAPH_CACHE && role != LEAT_GRAPH_QUARANTINE)
            draw_segment(drawing, &graph->segments[i]);
    }
    draw_loose(drawing, LEAT_GRAPH_TRAINER);
    draw_sides(drawing);
    draw_loose(drawing, LEAT_GRAPH_IDLE);
    add_arrows(drawing);
    add_side_arrows(drawing);
}

/* ---- the whole ---- */

static const char style[] =
    "<style>\n"
    "text{font:11px ui-monospace,\"DejaVu Sans Mono\",Menlo,monospace;fill:#24292f}\n"
    ".t,.g{font-weight:bold}.g{fill:#6e7781}.h{font-size:15px;font-weight:bold}\n"
    ".b{fill:#8c959f;fill-opacity:.13;stroke:#8c959f}.i{stroke-dasharray:4 3}\n"
    ".f{fill:none;stroke:#8c959f;stroke-dasharray:2 3}\n"
    ".a{fill:none;stroke:#8c959f;stroke-width:1.5}.s{stroke-dasharray:5 3}\n"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.g{fill:#9198a1}}\n"
    "</style>\n"
    "<defs><marker id=\"h\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" refY=\"4\" "
    "orient=\"auto\"><path d=\"M0 1L7 4L0 7z\" fill=\"#8c959f\"/></marker></defs>\n";

static void add_head(struct leat_text *text, const struct drawing *drawing) {
    int height = drawing->y > drawing->side_y ? drawing->y : drawing->side_y;
    int width = drawing->has_sides ? WIDTH : ALONE_WIDTH;
    struct leat_text name = {.data = NULL};

    height += MARGIN;
    leat_graph_add_clean(&name, drawing->graph->plan->spec->name);
    leat_text_add(text,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\">\n<title>stream ",
                  width, height, width, height);
    add_escaped(text, name.data ? name.data : "", name.n_bytes);
    leat_text_add(text, "</title>\n%s<text x=\"%d\" y=\"%d\" class=\"h\">stream ", style, MARGIN,
                  MARGIN + 14);
    add_escaped(text, name.data ? name.data : "",
                leat_graph_wrap(name.data ? name.data : "", name.n_bytes, 90));
    leat_text_add(text, "</text>\n");
    leat_text_end_part(text, &name);
}

void leat_graph_svg(struct leat_text *text, const struct leat_graph *graph,
                    const struct leat_forecast *forecast) {
    struct leat_text body = {.data = NULL};
    struct drawing drawing = {.graph = graph, .forecast = forecast, .text = &body};

    drawing.boxes = calloc(graph->n_nodes, sizeof(*drawing.boxes));
    if (!drawing.boxes) {
        text->failed = 1;
        return;
    }
    draw(&drawing);
    add_head(text, &drawing);
    leat_text_add_bytes(text, body.data, body.n_bytes);
    leat_text_add(text, "</svg>\n");
    leat_text_end_part(text, &body);
    free(drawing.boxes);
}
