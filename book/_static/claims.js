// Filter of the claims page: a button shows the claims with one verdict. Links such as
// claims.html#verdict-erratum arrive with that filter set.
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    const buttons = [...document.querySelectorAll(".claims-filter button")];
    if (!buttons.length) return;
    const boxes = [...document.querySelectorAll(".claims .claim")];
    const choose = (verdict) => {
      buttons.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict)));
      boxes.forEach((box) => { box.hidden = verdict !== "" && !box.classList.contains(verdict); });
      document.querySelectorAll(".claims .theme").forEach((theme) => {
        theme.hidden = ![...theme.querySelectorAll(".claim")].some((box) => !box.hidden);
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
