// A link into a page leads to its target: what is typeset or folded late moves it, so go there again until the page is still.
addEventListener("DOMContentLoaded", () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const page = new ResizeObserver(() => target.scrollIntoView({ behavior: "instant" }));
  page.observe(document.body);
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(kind, () => page.disconnect());
  setTimeout(() => page.disconnect(), 5000);
});
