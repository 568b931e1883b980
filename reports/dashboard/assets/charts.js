// Charts by Observable Plot, and the treemap by D3. Colours are those of the style sheet, so that they follow the theme.
"use strict";

(() => {
  const {h, number, short} = nightfuzz;
  const SVG = "http://www.w3.org/2000/svg";

  function s(tag, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes))
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
    return element;
  }

  // A box that draws its chart anew when its width changes. label: what the chart says, for readers who do not see it.
  nightfuzz.chart = (label, draw, high = 220) => {
    const box = h("div", {class: "chart", role: "img", "aria-label": label, style: `min-height:${high}px`});
    let width = 0;
    new ResizeObserver(() => {
      const now = Math.floor(box.clientWidth);
      if (!now || now === width) return;
      width = now;
      requestAnimationFrame(() => {
        box.replaceChildren(draw(width));
        // The box has the label of the whole; Plot names each group of shapes, which ARIA does not allow.
        for (const shape of box.querySelectorAll("g[aria-label]")) shape.removeAttribute("aria-label");
      });
    }).observe(box);
    return box;
  };

  const BASE = width => ({
    width,
    height: 220,
    marginLeft: 48,
    marginRight: 12,
    marginTop: 16,
    marginBottom: 30,
    style: {background: "none", fontFamily: "inherit", fontSize: "12px", overflow: "visible"},
  });

  // Lines over ordered points: series is {name: value(point)}.
  nightfuzz.lines = (label, points, x, series, options = {}) =>
    nightfuzz.chart(label, width => {
      const long = Object.entries(series).flatMap(([name, value]) =>
        points.map(point => ({name, x: x(point), y: value(point), point})),
      );
      const names = Object.keys(series);
      const colours = ["var(--accent)", "var(--second)", "var(--third)"];
      return Plot.plot({
        ...BASE(width),
        marginBottom: options.x?.label ? 42 : 30,
        height: options.x?.label ? 232 : 220,
        x: {
          label: null,
          grid: false,
          ...(options.names
            ? {ticks: Math.min(points.length, Math.floor(width / 110)), tickFormat: place => options.names[place] ?? ""}
            : {}),
          ...options.x,
        },
        y: {label: null, grid: true, ticks: 4, tickFormat: short, zero: true, nice: true, ...options.y},
        color: {domain: names, range: colours, legend: names.length > 1},
        marks: [
          names.length === 1
            ? Plot.areaY(long, {x: "x", y: "y", fill: "var(--accent-soft)", curve: options.curve || "linear"})
            : null,
          Plot.lineY(long, {x: "x", y: "y", stroke: "name", strokeWidth: 2, curve: options.curve || "linear"}),
          points.length < 40 ? Plot.dot(long, {x: "x", y: "y", fill: "name", r: 2.5}) : null,
          Plot.tip(
            long,
            Plot.pointerX({
              x: "x",
              y: "y",
              title: each =>
                `${options.told ? options.told(each.point) : each.x}\n${each.name}: ${number(Math.round(each.y * 100) / 100)}`,
              fill: "var(--surface)",
              stroke: "var(--line)",
            }),
          ),
          Plot.ruleY([0], {stroke: "var(--line)"}),
        ],
      });
    });

  // Horizontal bars, the largest first.
  nightfuzz.bars = (label, pairs, told = number) =>
    nightfuzz.chart(
      label,
      width =>
        Plot.plot({
          ...BASE(width),
          height: 28 * pairs.length + 16,
          marginLeft: Math.min(180, width * 0.42),
          marginRight: 76,
          marginTop: 4,
          marginBottom: 8,
          x: {axis: null},
          y: {label: null, domain: pairs.map(([name]) => name), tickSize: 0, padding: 0.32},
          marks: [
            Plot.barX(pairs, {x: "1", y: "0", fill: "var(--accent)", rx: 3}),
            Plot.text(pairs, {
              x: "1",
              y: "0",
              text: pair => told(pair[1]),
              textAnchor: "start",
              dx: 6,
              fill: "var(--muted)",
            }),
          ],
        }),
      28 * pairs.length + 16,
    );

  // A strip of cells that are links: {href, look, title}.
  nightfuzz.strip = (label, cells) =>
    h(
      "div",
      {class: "strip", role: "list", "aria-label": label},
      cells.map(cell =>
        h(
          "span",
          {role: "listitem"},
          h(cell.href ? "a" : "span", {
            class: `cell ${cell.look}`,
            href: cell.href,
            title: cell.title,
            "aria-label": cell.href ? cell.title : null,
            role: cell.href ? null : "img",
            ...(cell.href ? {} : {"aria-label": cell.title}),
          }),
        ),
      ),
    );

  // Modules and their apis as rectangles. colour(api) is a colour; apis are {name, module}.
  nightfuzz.treemap = (label, apis, {colour, told, open, group}) =>
    nightfuzz.chart(
      label,
      width => {
        const high = Math.round(Math.max(180, Math.min(620, width * 0.62, apis.length * 9)));
        const groups = d3.groups(apis, api => api.group);
        const root = d3
          .hierarchy({children: groups.map(([name, children]) => ({name, children}))})
          .sum(node => (node.children ? 0 : 1))
          .sort((a, b) => b.value - a.value);
        d3
          .treemap()
          .size([width, high])
          .paddingOuter(2)
          .paddingTop(node => (node.depth === 1 && node.value > 4 ? 17 : 1))
          .paddingInner(1)
          .round(true)(root);
        const svg = s("svg", {width, height: high, viewBox: `0 0 ${width} ${high}`, class: "treemap"});
        const tip = h("div", {class: "tip", hidden: true});
        for (const module of root.children || []) {
          const wide = module.x1 - module.x0;
          svg.append(
            s("rect", {x: module.x0, y: module.y0, width: wide, height: module.y1 - module.y0, class: "module"}),
          );
          for (const leaf of module.leaves()) {
            const rect = s("rect", {
              x: leaf.x0,
              y: leaf.y0,
              width: Math.max(leaf.x1 - leaf.x0, 0),
              height: Math.max(leaf.y1 - leaf.y0, 0),
              class: "leaf",
            });
            rect.style.fill = colour(leaf.data);
            rect.__api = leaf.data;
            svg.append(rect);
            const room = leaf.x1 - leaf.x0;
            if (room > 56 && leaf.y1 - leaf.y0 > 20) {
              const own = leaf.data.name.split(".").at(-1);
              const most = Math.floor((room - 8) / 6.7);
              svg.append(
                s(
                  "text",
                  {x: leaf.x0 + 5, y: leaf.y0 + 15, class: "label"},
                  own.length > most ? `${own.slice(0, most - 1)}…` : own,
                ),
              );
            }
          }
          if (module.value > 4 && wide > 30) {
            const letters = Math.floor((wide - 8) / 6.4);
            const name = module.data.name;
            const title = s(
              "text",
              {x: module.x0 + 5, y: module.y0 + 13, class: "name"},
              name.length > letters ? `${name.slice(0, Math.max(letters - 1, 1))}…` : name,
            );
            title.addEventListener("click", () => group(name));
            svg.append(title);
          }
        }
        svg.addEventListener("pointermove", event => {
          const api = event.target.__api;
          tip.hidden = !api;
          if (!api) return;
          tip.replaceChildren(h("b", {}, api.name), h("br"), told(api));
          const box = svg.getBoundingClientRect();
          tip.style.left = `${Math.min(event.clientX - box.left + 12, Math.max(width - 260, 0))}px`;
          tip.style.top = `${event.clientY - box.top + 14}px`;
        });
        svg.addEventListener("pointerleave", () => {
          tip.hidden = true;
        });
        svg.addEventListener("click", event => {
          if (event.target.__api) open(event.target.__api);
        });
        return h("div", {class: "map"}, svg, tip);
      },
      180,
    );
})();
