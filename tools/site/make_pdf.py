"""Print the whole book, which Sphinx wrote as one page, as a PDF.

    python -m tools.site.make_pdf build/book-single/index.html build/book.pdf

It is printed twice: only then is it known on which pages the headings are.
The first time, all but the contents is hidden, which takes half as long.
"""

import json
import pathlib
import shutil
import sys

import pikepdf
from playwright.sync_api import sync_playwright

from tools.notebooks import NOTEBOOKS, by_part, number_of
from tools.notebooks.atomic import atomically

AUTHOR = 'the d2lmulti authors'
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
# Left out of the contents: every chapter has them.
REPEATED = ('Summary', 'If it goes wrong', 'Exercises')
# The number of the chapter with which a part begins, and its title.
PARTS = {
    number_of(stems[0]): part
    for part, stems in by_part(path.stem for path in NOTEBOOKS).items()
}

# Everything is shown, because paper cannot be unfolded; a label says what can
# be skipped. An empty target of links before a chapter would make a separate
# page, and a download is a link to a file of this machine.
UNFOLD = """() => {
  document.body.classList.add('printed-book');
  document.querySelectorAll('details').forEach(d => d.open = true);
  document.querySelectorAll('summary').forEach(s => {
    const label = s.textContent.trim();
    s.textContent = label.startsWith('Show our solution') ? 'Our solution'
                  : label.startsWith('Show our answer') ? 'Our answer'
                  : label.startsWith('Show the check') ? 'The check'
                  : label.startsWith('Show') ? 'Supporting code' : label;
  });
  document.querySelectorAll('article span[id]:empty').forEach(target => {
    let next = target.nextElementSibling;
    while (next && !next.matches('h2, h3, h4'))
      next = next.matches('section') ? next.firstElementChild
                                     : next.nextElementSibling;
    next?.prepend(target);
  });
  document.querySelectorAll('a.download').forEach(
    a => a.removeAttribute('href'));
}"""
# The front page becomes the title page and a page below it, without headings
# that the contents would list. Each chapter's pages bear its title.
BIND = """author => {
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const root = document.querySelector('article > section');
  const title = make('div', {id: 'title-page'}), front = make('div', {});
  title.append(root.querySelector('h1'), root.querySelector('figure'),
               make('p', {className: 'author'}, author));
  document.querySelector('.front-buttons').remove();
  document.querySelector('.chapter-cards').closest('section').parentElement
    .closest('section').remove();
  front.append(...root.querySelectorAll(':scope > p, :scope > section'));
  front.querySelectorAll('h2').forEach(h => h.replaceWith(
    make('p', {className: 'front-heading'}, h.firstChild.textContent)));
  const toc = make('nav', {id: 'printed-toc'},
    make('p', {className: 'front-heading'}, 'Contents'));
  root.prepend(title, front, toc);
  const rules = [];
  document.querySelectorAll('article h2').forEach((h, i) => {
    h.closest('section').style.page = `chapter-${i}`;
    const title = JSON.stringify(plain(h));
    rules.push(`@page chapter-${i} { @top-right { content: ${title}; } }`);
  });
  document.head.append(make('style', {}, rules.join('\\n')));
  function plain(heading) {
    const title = heading.cloneNode(true);
    title.querySelectorAll('.headerlink').forEach(link => link.remove());
    return title.textContent.trim();
  }
  document.querySelectorAll('article h2, article h3').forEach(h => {
    if (REPEATED.includes(plain(h))) return;
    const number = parseInt(plain(h));
    if (h.tagName == 'H2' && PARTS[number])
      toc.append(make('p', {className: 'of-part'}, PARTS[number]));
    toc.append(make('a', {
      href: '#' + h.closest('section').id,
      className: h.tagName == 'H2' ? 'of-chapter' : 'of-section'},
      plain(h), make('span', {})));
  });
}""".replace('REPEATED', str(list(REPEATED))).replace(
    'PARTS', json.dumps(PARTS)
)
CONTENTS_ONLY = """
  body * { visibility: hidden !important; }
  #printed-toc, #printed-toc * { visibility: visible !important; }
"""
NUMBER = """pages => document.querySelectorAll('#printed-toc a').forEach(a => {
  const target = decodeURIComponent(a.hash.slice(1));
  if (!pages[target]) throw new Error(`no page has ${target}`);
  a.querySelector('span').textContent = pages[target];
})"""


def find_browser():
    """Return the path of Chromium; RuntimeError if there is none."""
    for path in map(shutil.which, BROWSERS):
        if path:
            return path
    raise RuntimeError(
        'the PDF is printed by Chromium: install it (Debian, '
        'Ubuntu: `sudo apt install chromium`)'
    )


def target_pages(path):
    """Return {target of links: number of its page}."""
    with pikepdf.open(path) as pdf:
        numbers = {page.obj.objgen: i + 1 for i, page in enumerate(pdf.pages)}
        return {
            name[1:]: numbers[place[0].objgen]
            for name, place in pdf.Root.Dests.items()
        }


def finish(path):
    """Undouble bookmarks, and pack what Chromium left unpacked.

    Chromium repeats the title of a heading that it moved to a new page.
    """
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        for item in pdf.objects:
            if isinstance(item, pikepdf.Dictionary) and '/Parent' in item:
                title = str(item.get('/Title', ''))
                half = title[: len(title) // 2]
                if half and title == 2 * half:
                    item.Title = half
        pdf.save(path, object_stream_mode=pikepdf.ObjectStreamMode.generate)


def print_book(source, target):
    """Write the page `source` as the PDF `target`."""
    options = {
        'path': target,
        'format': 'A4',
        'print_background': True,
        'margin': {
            'top': '18mm',
            'bottom': '18mm',
            'left': '18mm',
            'right': '18mm',
        },
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(),
            args=['--no-sandbox', '--disable-gpu'],
        )
        page = browser.new_page(color_scheme='light')
        page.set_default_timeout(600_000)
        page.goto(source.resolve().as_uri())
        page.wait_for_function(
            "document.querySelectorAll('.math').length == "
            "document.querySelectorAll('.math > mjx-container').length"
        )
        page.evaluate(UNFOLD)
        page.evaluate(BIND, AUTHOR)
        style = page.add_style_tag(content=CONTENTS_ONLY)
        page.pdf(**options)
        style.evaluate('tag => tag.remove()')
        page.evaluate(NUMBER, target_pages(target))
        page.pdf(outline=True, tagged=True, **options)
        browser.close()
    finish(target)


if __name__ == '__main__':
    with atomically(sys.argv[2]) as pdf:
        print_book(pathlib.Path(sys.argv[1]), pdf)
