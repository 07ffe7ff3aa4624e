// Filter of the claims page: a button shows the claims with one verdict. Links such as
// claims.html#verdict-erratum arrive with that filter set.
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    const buttons = [...document.querySelectorAll(".claims-filter button")];
    if (!buttons.length) return;
    const rows = [...document.querySelectorAll(".claims tbody tr")];
    const choose = (verdict) => {
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict)));
      rows.forEach((row) => { row.hidden = verdict !== "" && !row.querySelector(`.${CSS.escape(verdict)}`); });
      document.querySelectorAll(".claims table").forEach((table) => {
        const empty = ![...table.querySelectorAll("tbody tr")].some((row) => !row.hidden);
        const box = table.closest(".pst-scrollable-table-container") || table;
        box.hidden = empty;
        if (box.previousElementSibling) box.previousElementSibling.hidden = empty; // the theme's name
      });
    };
    buttons.forEach((button) => button.addEventListener("click", () => choose(button.dataset.verdict)));
    const follow = () => {
      const wanted = location.hash.slice(1);
      if (buttons.some((button) => button.dataset.verdict === wanted)) choose(wanted);
    };
    addEventListener("hashchange", follow);
    follow();
  });
})();
