// What sticks out of the viewport sideways and cannot be scrolled inside its own box.
(() => {
  const width = document.documentElement.clientWidth;
  const scrolls = (element) => {
    for (let node = element.parentElement; node && node !== document.body; node = node.parentElement) {
      if (/auto|scroll|hidden/.test(getComputedStyle(node).overflowX)) return true;
    }
    return false;
  };
  const wide = [];
  if (document.documentElement.scrollWidth > width + 1) wide.push(`page is ${document.documentElement.scrollWidth} px wide`);
  for (const element of document.querySelectorAll("article *, header *, footer *")) {
    const box = element.getBoundingClientRect();
    if (box.width > 0 && box.right > width + 1 && !scrolls(element)) {
      wide.push(`<${element.tagName.toLowerCase()} class="${element.getAttribute("class") || ""}"> ends at ${Math.round(box.right)} px`);
    }
  }
  return wide.slice(0, 4);
})()
