"use strict";
// Tables sort by a click on a heading: numbers by value, empty cells last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = row => {
        const cell = row.cells[column];
        return cell.dataset.value ?? cell.textContent.trim();
      };
      const sign = up ? 1 : -1;
      const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (a === "" || b === "") return (a === "") - (b === "");
        const apart = Number(a) - Number(b);
        return sign * (Number.isNaN(apart) ? a.localeCompare(b) : apart);
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", event => {
      if (event.key === "Enter") sort();
    });
  });
}

// Panels with tabs: the sharpest percentile that has values comes first.
for (const figure of document.querySelectorAll("figure:has(.tabs)")) {
  const buttons = [...figure.querySelectorAll(".tabs button")];
  const panels = [...figure.querySelectorAll(".panel")];
  const show = tab => {
    for (const panel of panels) panel.hidden = panel.dataset.tab !== tab;
    for (const button of buttons) {
      button.setAttribute("aria-selected", button.dataset.tab === tab);
    }
  };
  const full = buttons.filter(button => panels.some(
      panel => panel.dataset.tab === button.dataset.tab &&
               !("empty" in panel.dataset)));
  show((full.at(-1) ?? buttons[0]).dataset.tab);
  for (const button of buttons) {
    button.addEventListener("click", () => show(button.dataset.tab));
  }
}

// A link to a run opens what hides it.
addEventListener("hashchange", () => {
  const target = document.getElementById(location.hash.slice(1));
  const hiding = target?.closest("details");
  if (hiding) {
    hiding.open = true;
    target.scrollIntoView();
  }
});

// The filter keeps runs that hold all its words.
document.getElementById("filter")?.addEventListener("input", event => {
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const row of document.querySelector("#run-table tbody").rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every(word => text.includes(word));
  }
});
