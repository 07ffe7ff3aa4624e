// A CSV text as rows of numbers: { names, rows, lines, leftOut }, or an Error that says which line and column to mend.
(() => {
  "use strict";
  const LEAST = 10, MOST = 20000;

  // Cells by line; quoted cells may hold delimiters, quotes ("") and line ends.
  function cellsOf(text, delimiter) {
    const out = [];
    let row = [], cell = "", isQuoted = false, line = 1, first = 1;
    const endRow = () => {
      row.push(cell);
      if (row.length > 1 || row[0].trim()) out.push({ line: first, cells: row.map((c) => c.trim()) });
      row = []; cell = ""; first = line + 1;
    };
    for (let i = 0; i < text.length; i++) {
      const c = text[i];
      if (isQuoted) {
        if (c === '"' && text[i + 1] === '"') { cell += c; i++; } else if (c === '"') isQuoted = false; else cell += c;
      } else if (c === '"' && !cell.trim()) { cell = ""; isQuoted = true; } else if (c === delimiter) { row.push(cell); cell = ""; }
      else if (c === "\n") endRow(); else if (c !== "\r") cell += c;
      if (c === "\n") line++;
    }
    if (isQuoted) throw new Error(`Line ${first}: a quotation mark is opened and never closed.`);
    if (cell || row.length) endRow();
    return out;
  }

  function parseTable(given) {
    let text = given.replace(/^\uFEFF/, "");
    if (/[\u0000\uFFFD]/.test(text)) throw new Error("This is not a CSV file in UTF-8. If it comes from a spreadsheet, save it as “CSV UTF-8”.");
    const named = text.match(/^sep=(.)\r?\n/i); // a line that spreadsheets write
    if (named) text = text.slice(named[0].length);
    const firstLine = text.split(/\r?\n/, 1)[0], count = (d) => firstLine.split(d).length;
    const delimiter = named?.[1] ?? [",", ";", "\t"].reduce((best, d) => (count(d) > count(best) ? d : best));
    const all = cellsOf(text, delimiter);
    if (!all.length) throw new Error("The file is empty.");
    const number = (cell) => (cell === "" ? NaN : Number(delimiter === ";" ? cell.replace(",", ".") : cell));
    const isNumber = (cell) => Number.isFinite(number(cell)), width = all[0].cells.length;
    const uneven = all.find(({ cells }) => cells.length !== width);
    if (uneven) throw new Error(`Line ${uneven.line} has ${uneven.cells.length} cells, the first line has ${width}.`);
    const hasNames = all[0].cells.every((cell) => !isNumber(cell)), body = hasNames ? all.slice(1) : all;
    const names = all[0].cells.map((cell, j) => (hasNames && cell ? cell : `column ${j + 1}`));
    if (body.length < LEAST) throw new Error(`${body.length} rows are too few: at least ${LEAST} are needed.`);
    if (body.length > MOST) throw new Error(`${body.length} rows are too many for this page: at most ${MOST}. The package takes more.`);
    const kept = [], leftOut = [];
    names.forEach((name, j) => {
      const good = body.filter(({ cells }) => isNumber(cells[j])), bad = body.find(({ cells }) => !isNumber(cells[j]));
      if (!good.length) leftOut.push(`${name} (no numbers)`);
      else if (bad) throw new Error(`Line ${bad.line}, column “${name}”: ${bad.cells[j] ? `“${bad.cells[j].slice(0, 30)}” is not a number` : "the cell is empty"}. Fill it or remove the line.`);
      else if (good.every(({ cells }) => number(cells[j]) === number(good[0].cells[j]))) leftOut.push(`${name} (always the same)`);
      else kept.push(j);
    });
    if (kept.length < 2) throw new Error(`Two or more columns of numbers are needed; this file has ${kept.length}.`);
    return { names: kept.map((j) => names[j]), rows: body.map(({ cells }) => kept.map((j) => number(cells[j]))), lines: body.map(({ line }) => line), leftOut };
  }

  Object.assign(globalThis.lpsvdd, { parseTable });
})();
