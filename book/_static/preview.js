// What a link leads to, shown when the pointer or the focus rests on it: citations, terms of the
// glossary, equations. The texts are one local file, loaded when first needed; nothing is fetched.
(() => {
  "use strict";
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href).href;
  let box, texts;
  const load = () => (texts ??= new Promise((done) => {
    const script = document.createElement("script");
    script.src = `${root}_static/previews.js`;
    script.onload = () => done(globalThis.bookPreviews || {});
    script.onerror = () => done({});
    document.head.append(script);
  }));
  const hide = () => { box?.remove(); box = undefined; };
  const show = async (link) => {
    const address = decodeURI(link.href);
    if (!address.startsWith(root) || !/#(id\d+|term-|equation-)/.test(address)) return;
    const text = (await load())[address.slice(root.length)];
    if (!text || !(link.matches(":hover") || link === document.activeElement)) return;
    hide();
    box = Object.assign(document.createElement("div"), { className: "preview", innerHTML: text });
    box.setAttribute("role", "tooltip");
    document.body.append(box);
    await globalThis.MathJax?.typesetPromise?.([box]);
    if (!box) return;
    const at = link.getBoundingClientRect(), size = box.getBoundingClientRect();
    const below = at.bottom + size.height + 8 < innerHeight;
    box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8)) + scrollX}px`;
    box.style.top = `${(below ? at.bottom + 4 : at.top - size.height - 4) + scrollY}px`;
  };
  document.addEventListener("DOMContentLoaded", () => {
    for (const link of document.querySelectorAll('article a[href*="#"]')) {
      for (const [start, end] of [["pointerenter", "pointerleave"], ["focus", "blur"]]) {
        link.addEventListener(start, () => show(link));
        link.addEventListener(end, hide);
      }
    }
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
