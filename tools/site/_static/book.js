/* Let a phone scroll pictures that are too wide to be read on it. */
document.addEventListener('DOMContentLoaded', () => {
  const wide = 'article img:not(.front-figure img, .only-dark)';
  for (const picture of document.querySelectorAll(wide)) {
    const mark = () => {
      /* What cells draw has two pixels for one of the screen. */
      const pixels = picture.src.endsWith('.svg') ? 1 : 2;
      if (picture.naturalWidth > 500 * pixels) {
        const both = picture.closest('.light-and-dark') ?? picture;
        const box = document.createElement('div');
        box.className = 'wide-picture';
        box.tabIndex = 0;
        const hint = document.createElement('p');
        hint.className = 'scroll-hint';
        hint.textContent = 'Swipe the figure to see the rest \u2192';
        both.replaceWith(box, hint);
        box.append(both);
      }
    };
    if (picture.complete) mark();
    else picture.addEventListener('load', mark);
  }
});

/* A phone shows the cells of a row below each other where it would have to
   scroll their table, or to squeeze it. */
document.addEventListener('DOMContentLoaded', () => {
  if (!matchMedia('(max-width: 576px)').matches) return;
  const boxes = document.querySelectorAll('.pst-scrollable-table-container');
  for (const box of boxes) {
    const cells = [...box.querySelectorAll('td')];
    const {tHead} = box.querySelector('table');
    const {display, lineHeight} = getComputedStyle(box.querySelector('td'));
    if (!tHead || display != 'table-cell') continue; /* stacked by its style */
    const hasLines = (number) => (element) =>
      element.offsetHeight >= number * parseFloat(lineHeight);
    /* Two lines and what is between them are a name of three lines. */
    const names = [...box.querySelectorAll('code .pre')];
    const isSqueezed = cells.some(hasLines(7)) || names.some(hasLines(2));
    if (!isSqueezed && box.scrollWidth <= box.clientWidth) continue;
    box.classList.add('stacked-table');
    for (const cell of cells) {
      const title = tHead.rows[0].cells[cell.cellIndex].textContent.trim();
      const text = cell.textContent.trim();
      if (title && text && !text.startsWith(title)) cell.dataset.title = title;
    }
  }
});

/* A phone breaks lines of code, and indents what is left of them; but not
   between the indentation and a long name, nor after a minus or dashes. */
const unbroken = (text) => {
  const part = document.createElement('span');
  part.className = 'unbroken';
  part.textContent = text;
  return part;
};
document.addEventListener('DOMContentLoaded', () => {
  if (!matchMedia('(max-width: 576px)').matches) return;
  for (const code of document.querySelectorAll('article .highlight > pre')) {
    const isDrawn = /[\u2500-\u257f]/.test(code.textContent); /* of lines */
    if (code.closest('.cell_output') || isDrawn) continue;
    const lines = [document.createElement('span')];
    for (const part of [...code.childNodes]) {
      for (const text of part.textContent.split(/(?<=\n)/)) {
        const piece = part.tagName
          ? part.cloneNode() : document.createElement('span');
        piece.append(...text.split(/((?<![a-z])-+\w|e-\d)/i).map(
          (bit, i) => i % 2 ? unbroken(bit) : bit));
        lines.at(-1).append(piece);
        if (text.endsWith('\n')) lines.push(document.createElement('span'));
      }
    }
    for (const line of lines) {
      line.className = 'code-line';
      const indent = line.textContent.search(/\S|$/);
      const start = line.firstChild?.firstChild;
      const spaces = start?.textContent.match(/^ */)[0].length;
      if (spaces) {
        const isLong = line.textContent.length > 46;
        start.textContent = start.textContent.slice(spaces);
        line.prepend(
          unbroken(' '.repeat(isLong ? Math.min(20, spaces) : spaces)));
      }
      line.style.setProperty('--indent', Math.min(12, indent));
    }
    code.replaceChildren(...lines.filter((line) => line.textContent));
  }
});

/* What a cell prints in columns, a phone scrolls. Of other lines, those that
   are too long go on indented. */
document.addEventListener('DOMContentLoaded', () => {
  for (const output of document.querySelectorAll('.cell_output pre')) {
    const text = output.textContent.trimEnd();
    const rows = text.match(/\S {2,}\S.* {2,}\S/g) ?? [];
    const hasHead = rows.some((row) => row.split(/ {2,}/).length > 3);
    if (rows.length > 1 || hasHead) {
      output.classList.add('printed-lines');
    } else if (![...output.children].some((part) => part.textContent)) {
      const lines = text.split(/(?<=\n)/).map((line) => {
        const own = document.createElement('span');
        own.className = 'printed-line';
        own.textContent = line;
        return own;
      });
      output.replaceChildren(...lines);
    }
  }
});

/* Paper is white: no pale words on it. */
const paper = matchMedia('print');
let themeOfScreen;
paper.addEventListener('change', () => {
  const {dataset} = document.documentElement;
  if (paper.matches) themeOfScreen = dataset.theme;
  dataset.theme = paper.matches ? 'light' : themeOfScreen;
});

/* A term's meaning is inside of the window. */
const placeMeaning = ({target}) => {
  const tip = target.closest?.('a.tip');
  if (!tip) return;
  const {left} = tip.getClientRects()[0];
  const room = document.documentElement.clientWidth - 8;
  const width = Math.min(300, room);
  tip.style.setProperty(
    '--tip-left', `${Math.min(0, room - width - left)}px`);
};
for (const event of ['click', 'focusin', 'pointerover'])
  document.addEventListener(event, placeMeaning);

/* A finger has nothing to hover with. */
document.addEventListener('click', (event) => {
  const tip = event.target.closest?.('a.tip');
  const wasOpen = tip?.classList.contains('tip-open');
  for (const open of document.querySelectorAll('a.tip-open'))
    open.classList.remove('tip-open');
  if (!tip || event.pointerType !== 'touch' || wasOpen) return;
  event.preventDefault();
  tip.classList.add('tip-open');
});

/* Sections whose titles have the words that are sought, as results. */
const titlesWith = ({alltitles, titles, docnames, filenames}) => {
  const query = new URLSearchParams(window.location.search).get('q') ?? '';
  const words = query.match(/[\p{L}\d]+/gu) ?? [];
  return Object.entries(words.length ? alltitles : {}).filter(([title]) =>
    words.every((word) => new RegExp(
      `(?<![\\p{L}\\d])${word}s?(?![\\p{L}\\d])`, 'iu').test(title)),
  ).flatMap(([title, places]) => places.map(([file, id]) => [
    docnames[file],
    titles[file] === title ? title : `${titles[file]} > ${title}`,
    id === null ? '' : `#${id}`,
    null,
    40 + Math.round(15 * query.length / title.length),
    filenames[file],
    'title',
  ]));
};

/* What the search shows of a page: its text, at the word, not in one. */
const improveSearch = () => {
  if (typeof Search === 'undefined' || Search.improved) return;
  Search.improved = true;
  const ofTheme = '.bd-header-article, .prev-next-footer, #jb-print-docs-body,'
    + ' .headerlink, script, style, button, summary';
  Search.htmlToText = (source, anchor) => {
    const page = new DOMParser().parseFromString(source, 'text/html');
    const text = page.querySelector('article');
    for (const part of page.querySelectorAll(ofTheme)) part.remove();
    const found = anchor && text?.querySelector(anchor);
    return (found || text)?.textContent.replace(/\s+/g, ' ') ?? '';
  };
  Search.makeSearchSummary = (source, keywords, anchor) => {
    const text = Search.htmlToText(source, anchor);
    if (!text) return null;
    const quoted = [...keywords].map(
      (word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const place = text.search(
      new RegExp(`(?<![\\p{L}\\d])(${quoted.join('|')})`, 'iu'));
    const start = Math.max(place - 120, 0), end = start + 240;
    const summary = document.createElement('p');
    summary.classList.add('context');
    summary.textContent = (start ? '\u2026' : '')
      + text.slice(start, end).trim() + (end < text.length ? '\u2026' : '');
    return summary;
  };
  /* Sections with the words in their titles come before pages that only
     mention them; Sphinx leaves most of them out. */
  const searchText = Search.performTermsSearch;
  Search.performTermsSearch = (words, excluded) =>
    [...titlesWith(Search._index), ...searchText(words, excluded)];
  /* Of a chapter that defines several things, say which. */
  const searchAll = Search._performSearch;
  Search._performSearch = (query, ...rest) => {
    const {docnames, indexentries} = Search._index;
    const results = searchAll(query, ...rest);
    for (const result of results.filter(([,, anchor]) => anchor)) {
      const defined = Object.keys(indexentries).find((entry) =>
        entry.includes(query.toLowerCase()) && indexentries[entry].some(
          ([file, id, isMain]) => isMain && docnames[file] === result[0]
            && `#${id}` === result[2]));
      if (defined) result[1] += ` > ${defined}`;
    }
    return results;
  };
};
improveSearch();
document.addEventListener('DOMContentLoaded', improveSearch);
