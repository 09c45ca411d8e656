// Tables can be sorted: a click on a heading puts the largest figure first, another click the smallest.
// Figures are compared as numbers, and cells without one go last; columns of words are sorted as text.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table")) {
    const body = table.tBodies[0];
    if (!table.tHead || !body || body.rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement("button");
      button.className = "sort";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const rows = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent.trim() }));
        const figures = rows.some(({ text }) => text !== "" && !Number.isNaN(Number(text)));
        const [first, second] = figures ? ["descending", "ascending"] : ["ascending", "descending"];
        const sense = heading.getAttribute("aria-sort") === first ? second : first;
        const sign = sense === "ascending" ? 1 : -1;
        const order = (a, b) => {
          if (!figures) return sign * a.text.localeCompare(b.text);
          const [x, y] = [a, b].map(({ text }) => (text === "" ? NaN : Number(text)));
          if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
          return sign * (x - y);
        };
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", sense);
        body.append(...rows.sort(order).map(({ row }) => row));
      });
    });
  }
});
