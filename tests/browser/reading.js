// What a reader sees and a console does not: returns a list of [kind, detail] problems of the page
// as it is laid out now. Called on a desk, once in the light and once in the dark theme, and on a phone.
(() => {
  const problems = [];
  const report = (kind, detail) => problems.push([kind, String(detail).replace(/\s+/g, " ").trim().slice(0, 160)]);

  // MathJax paints a macro that it does not know red instead of raising an error.
  for (const node of document.querySelectorAll('mjx-container [fill="red"], mjx-container [data-mml-node="merror"]')) {
    const formula = node.closest("mjx-container");
    report("unknown TeX macro", formula.getAttribute("aria-label") || node.textContent || formula.outerHTML.slice(0, 120));
  }
  // A displayed formula that needs scrolling on a desk.
  if (innerWidth >= 1000) {
    for (const node of document.querySelectorAll('article mjx-container[display="true"], article div.math')) {
      if (node.scrollWidth > node.clientWidth + 2) report("clipped equation", `${node.scrollWidth} px in ${node.clientWidth} px: ${node.textContent}`);
    }
    for (const table of document.querySelectorAll("article table")) {
      const box = table.parentElement.getBoundingClientRect();
      const hidden = !table.getClientRects().length; // folded away
      if (!hidden && (table.scrollWidth > table.clientWidth + 1 || table.getBoundingClientRect().right > box.right + 1)) {
        report("table wider than its column", `${table.scrollWidth} px in ${Math.round(box.width)} px: ${table.textContent}`);
      }
    }
  }
  // Code that needs scrolling on a desk: what is beyond the edge is not read.
  if (innerWidth >= 1200) {
    for (const block of document.querySelectorAll("article pre")) {
      if (block.scrollWidth <= block.clientWidth + 1 || !block.getClientRects().length) continue;
      const longest = block.textContent.split("\n").reduce((a, b) => (b.length > a.length ? b : a));
      report("code line cut off", `${block.scrollWidth} px in ${block.clientWidth} px: ${longest.trim()}`);
    }
    // Sentences that nobody would write by hand.
    const template = [
      /(?<=^|[\s(])1 (?:data sets|sets|tables|methods|splits|cells|rows|points|times|tasks|samples|models|networks)\b/,
      /\b0 (?:data sets?|sets?|methods?|splits?|failed|lose|are)\b/, /\(none\)/, /(?<=^|[\s(])[-\u2212]0(?:\.0+)?(?![\w.-])/, /(?<=^|[\s(\u2212-])0(?:\.0+)?e/,
      /\{\{|\}\}/, /\(not computed\)/, /(?<!\w)nan(?!\w)/, /\b(?!that|had)(\w{3,}) \1\b/i, /Take along/, ...(/\/api\//.test(location.pathname) ? [] : [/\de-\d/]),
    ];
    for (const node of document.querySelectorAll("article :is(p, li, td, th, figcaption, caption, dd, summary, h1, h2, h3)")) {
      if (node.closest("pre, .toctree-wrapper, dl.py, table.dataframe") || node.querySelector("p, li")) continue;
      const copy = node.cloneNode(true);
      for (const other of copy.querySelectorAll("code, mjx-container, script, style, .math, svg, .headerlink")) other.replaceWith(" \u2026 ");
      const text = copy.textContent.replace(/\s+/g, " "), found = template.map((form) => text.match(form)).find(Boolean);
      if (found) report("template sentence", `“${found[0]}” in: ${text.slice(Math.max(0, found.index - 60), found.index + 60)}`);
    }
  }
  // A formula in a line of text is neither broken nor scrolled: on a narrow screen its end is cut off.
  const scrolled = (node) => {
    for (let at = node.parentElement; at && at.tagName !== "ARTICLE"; at = at.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(at).overflowX) && at.scrollWidth > at.clientWidth) return true;
    }
    return false;
  };
  for (const node of document.querySelectorAll('article mjx-container:not([display="true"])')) {
    const box = node.getBoundingClientRect(), line = node.closest("p, li, dd, td, th, figcaption, summary, h1, h2, h3, article");
    if (box.width && box.right > line.getBoundingClientRect().right + 2 && !scrolled(node)) {
      report("clipped inline formula", `${Math.round(box.width)} px: ${line.textContent.slice(0, 120)}`);
    }
  }
  if (innerWidth < 1000) return problems;

  // Contrast of text against what is behind it (WCAG AA), and the weight of captions.
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const luminance = ([r, g, b]) => {
    const [R, G, B] = [r, g, b].map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * R + 0.7152 * G + 0.0722 * B;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.5) return colour;
    }
    return [255, 255, 255];
  };
  const contrastOf = (node) => {
    const [one, other] = [luminance(parse(getComputedStyle(node).color)), luminance(behind(node))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  };
  const captions = "figcaption, caption, figcaption .caption-text, .explorable .summary";
  for (const caption of document.querySelectorAll(captions)) {
    if (!caption.textContent.trim() || !caption.getClientRects().length) continue;
    const style = getComputedStyle(caption), contrast = contrastOf(caption);
    if (contrast < 4.5) report("faint caption", `contrast ${contrast.toFixed(1)}: ${caption.textContent}`);
    if (Number(style.fontWeight) < 400) report("hairline caption", `weight ${style.fontWeight}: ${caption.textContent}`);
  }
  // All other text; code is coloured by the theme.
  const words = "article p, article li, article td, article th, article summary, article a, article button, article label, article .verdict";
  for (const node of document.querySelectorAll(words)) {
    const own = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!own || !node.getClientRects().length || node.closest("pre, .highlight, figcaption, caption, .headerlink")) continue;
    const contrast = contrastOf(node);
    if (contrast < 4.5) report("faint text", `contrast ${contrast.toFixed(1)}: ${node.textContent}`);
  }
  return problems;
})()
