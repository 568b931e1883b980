// A table that is sorted by its heads and filtered by a search, by choices and by the address.
"use strict";

(() => {
  const {h, number, address, place, remember} = nightfuzz;
  const PAGE = 100;

  // columns: {key, label, value(row), cell(row), number, wide}. value sorts; cell is what is shown.
  // facets: {key, label, value(row), words(value), hidden}: choices; a hidden one is set by the address alone.
  // text(row): the words that the search looks through.
  nightfuzz.table = ({
    rows,
    columns,
    facets = [],
    text,
    sort = "",
    noun = "row",
    nouns = `${noun}s`,
    caption,
    after,
  }) => {
    const query = place().query;
    const wanted = {q: query.q || "", sort: query.sort || sort};
    for (const facet of facets) wanted[facet.key] = query[facet.key] || "";
    const kept = Object.fromEntries(Object.entries(query).filter(([name]) => !(name in wanted)));
    const words = text ? rows.map(row => text(row).toLowerCase()) : [];
    let shown = PAGE;
    let found = [];

    const body = h("tbody");
    const count = h("p", {class: "count", role: "status"});
    const more = h("button", {
      type: "button",
      class: "more",
      onclick: () => {
        shown += PAGE * 5;
        draw();
      },
    });
    const heads = columns.map(column => {
      const button = h("button", {type: "button", onclick: () => turn(column)}, column.label);
      return h("th", {scope: "col", class: `${column.number ? "number" : ""} ${column.wide ? "wide" : ""}`}, button);
    });

    function turn(column) {
      const first = column.number ? `-${column.key}` : column.key;
      const second = column.number ? column.key : `-${column.key}`;
      wanted.sort = wanted.sort === first ? second : wanted.sort === second ? sort : first;
      refresh();
    }

    function refresh() {
      const terms = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
      const active = facets.filter(facet => wanted[facet.key]);
      found = [];
      rows.forEach((row, place) => {
        if (
          active.every(facet => [facet.value(row)].flat().includes(wanted[facet.key])) &&
          terms.every(term => words[place].includes(term))
        )
          found.push(row);
      });
      const down = wanted.sort.startsWith("-");
      const column = columns.find(each => each.key === wanted.sort.replace("-", ""));
      if (column) {
        const keyed = found.map(row => [column.value(row), row]);
        keyed.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
        found = keyed.map(([, row]) => row);
      }
      heads.forEach((head, place) => {
        if (columns[place] === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      shown = PAGE;
      remember({...kept, ...wanted, sort: wanted.sort === sort ? "" : wanted.sort});
      draw();
      if (after) after(found);
    }

    function draw() {
      body.replaceChildren(
        ...found.slice(0, shown).map(row =>
          h(
            "tr",
            {},
            columns.map(column =>
              h(
                "td",
                {
                  class: `${column.number ? "number" : ""} ${column.wide ? "wide" : ""} ${column.look || ""}`,
                  "data-label": column.label,
                },
                column.cell ? column.cell(row) : String(column.value(row)),
              ),
            ),
          ),
        ),
      );
      if (!found.length)
        body.append(
          h("tr", {}, h("td", {colspan: columns.length, class: "muted"}, `No ${noun} matches. Remove a filter.`)),
        );
      count.textContent =
        found.length === rows.length
          ? `${number(found.length)} ${found.length === 1 ? noun : nouns}`
          : `${number(found.length)} of ${number(rows.length)} ${nouns}`;
      more.hidden = shown >= found.length;
      more.textContent = `Show more (${number(found.length - shown)} left)`;
    }

    const bar = h("div", {class: "filters"});
    if (text) {
      const box = h("input", {
        type: "search",
        placeholder: "Filter by words",
        "aria-label": `Filter ${nouns} by words`,
        oninput: () => {
          wanted.q = box.value;
          refresh();
        },
      });
      box.value = wanted.q;
      bar.append(box);
    }
    for (const facet of facets) {
      const told = facet.words || (value => nightfuzz.words(value));
      if (facet.hidden) {
        if (wanted[facet.key]) {
          const chip = h(
            "button",
            {
              type: "button",
              class: "chip",
              onclick: () => {
                wanted[facet.key] = "";
                chip.remove();
                refresh();
              },
              "aria-label": `Remove the filter ${facet.label}`,
            },
            `${facet.label}: ${told(wanted[facet.key])} ×`,
          );
          bar.append(chip);
        }
        continue;
      }
      const values = [...new Set(rows.flatMap(row => facet.value(row)))].filter(Boolean).sort(facet.order);
      if (values.length < 2 && !wanted[facet.key]) continue;
      if (wanted[facet.key] && !values.includes(wanted[facet.key])) values.push(wanted[facet.key]);
      const choice = h(
        "select",
        {
          "aria-label": facet.label,
          onchange: () => {
            wanted[facet.key] = choice.value;
            refresh();
          },
        },
        h("option", {value: ""}, `${facet.label}: all`),
        values.map(value => h("option", {value, selected: value === wanted[facet.key]}, told(value))),
      );
      bar.append(choice);
    }
    refresh();
    return h(
      "div",
      {class: "list"},
      bar.children.length ? bar : null,
      count,
      h(
        "div",
        {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
        h("table", {}, h("caption", {class: "hidden"}, caption), h("thead", {}, h("tr", {}, heads)), body),
      ),
      more,
    );
  };

  // A short table without filters.
  nightfuzz.plainTable = (caption, heads, rows, numbers = []) =>
    h(
      "div",
      {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
      h(
        "table",
        {},
        h("caption", {class: "hidden"}, caption),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map((head, place) => h("th", {scope: "col", class: numbers.includes(place) ? "number" : ""}, head)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(row =>
            h(
              "tr",
              {},
              row.map((cell, place) =>
                h("td", {class: numbers.includes(place) ? "number" : "", "data-label": heads[place]}, cell),
              ),
            ),
          ),
        ),
      ),
    );
})();
