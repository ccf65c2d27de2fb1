/* The interactive figures: a comment in a chapter, or on a page, has the place
   of each. Its settings, as far as they were changed, are in the address. */
(() => {
const DEVICES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00',
                 '#56b4e9', '#999999', '#b8a800'];
const percent = x =>
  `${(100 * x).toFixed(x && Math.abs(x) < 0.0995 ? 1 : 0)} %`;
const count = n => n.toLocaleString('en', {maximumSignificantDigits: 6});
const digits = x => count(Number(x.toPrecision(3)));
const several = (n, what) => `${digits(n)} ${what}${n == 1 ? '' : 's'}`;
const upTo = n => Array.from({length: n}, (_, i) => i);

/* Controls: [name, label, kind, ...]; a choice has its options, a slider
   its least, its largest and the one it starts with, and how to show it
   (from its value, and those of all controls). */
const choice = (name, label, options) => ({name, label, options});
const slider = (name, label, least, largest, start, show = String) =>
  ({name, label, least, largest, start, show});

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const {style, ...others} = properties;
  Object.assign(element.style, style);
  Object.assign(element, others);
  element.append(...children);
  return element;
}

/* One row of the form; `changed` is called with every new value. */
function control({name, label, options, least, show}, value, largest, changed) {
  const input = options
    ? make('select', {}, ...options.map(
      option => make('option', {value: option}, option)))
    : make('input', {type: 'range', min: least, max: largest});
  input.value = value;
  const shown = make('output');
  const read = () => options ? input.value : Number(input.value);
  const update = () => changed(name, read());
  input.name = name;
  input.addEventListener('input', update);
  const row = make('label', {}, make('span', {}, label), input, shown);
  row.showValue = values => {
    if (options) return;
    shown.textContent = show(read(), values);
    input.setAttribute('aria-valuetext', shown.textContent);
  };
  row.setLargest = value => {
    if (input.max == value) return;
    input.max = value;
    update();
  };
  update();
  return row;
}

function table(name, head, rows) {
  const line = (cells, tag) => make('tr', {}, ...cells.map(
    cell => make(tag, {}, String(cell))));
  const found = make('table', {className: 'table'},
    make('thead', {}, line(head, 'th')),
    make('tbody', {}, ...rows.map(row => line(row, 'td'))));
  found.querySelectorAll('th').forEach(th => th.scope = 'col');
  const place = make('div', {className: 'figure-table', tabIndex: 0}, found);
  place.setAttribute('role', 'region'); // one that scrolls
  place.setAttribute('aria-label', `The numbers of the figure ${name}`);
  return place;
}

/* A picture: all of it is one image, `hidden` if another says the same. */
function drawn(options, width, label, hidden) {
  const svg = Plot.plot({
    width, marginBottom: 42,
    style: {background: 'none', fontSize: '12px', overflow: 'visible'},
    ...options,
  });
  const image = svg.querySelector(':scope > svg') ?? svg; // or a legend's
  image.querySelectorAll('[aria-label]').forEach(
    part => part.removeAttribute('aria-label'));
  if (hidden) {
    image.setAttribute('aria-hidden', 'true');
  } else {
    image.setAttribute('role', 'img');
    image.setAttribute('aria-label', label);
  }
  return svg;
}

/* Values of an address that names the figure, as '?k=8#figure-allreduce';
   those that are none are left out. */
function asked(name, controls) {
  const query = new URLSearchParams(
    location.hash == `#figure-${name}` ? location.search : '');
  return Object.fromEntries(controls.map(({name, options, least, start}) => {
    const value = query.get(name), number = Number(value);
    const valid = value != null && (options ? options.includes(value)
      : Number.isInteger(number) && number >= least);
    const first = options ? options[0] : start;
    return [name, valid ? (options ? value : number) : first];
  }));
}

function writeAddress(name, controls, values) {
  const query = new URLSearchParams();
  for (const {name: key, options, start} of controls)
    if (values[key] != (options ? options[0] : start))
      query.set(key, values[key]);
  const address = String(query) ? `?${query}` : location.pathname;
  history.replaceState(null, '', `${address}#figure-${name}`);
}

/* Put a figure into its place: controls, an answer in words, the picture,
   and the same numbers as a table. */
function figure(name, {controls, draw, limits}) {
  const place = document.querySelector(`[data-figure="${name}"]`);
  if (!place) return;
  const values = asked(name, controls), form = make('form'), rows = {};
  const answer = make('p', {className: 'figure-answer'});
  const picture = make('div', {className: 'figure-picture'});
  const numbers = make('details', {},
    make('summary', {}, 'The numbers as a table'));
  answer.setAttribute('aria-live', 'polite');
  answer.id = `answer-${name}`;
  form.addEventListener('submit', event => event.preventDefault());
  let begun = false;
  const redraw = () => {
    if (!begun) return;
    for (const [one, value] of Object.entries(limits?.(values) ?? {}))
      rows[one].setLargest(value);
    for (const row of Object.values(rows)) row.showValue(values);
    const width = Math.max(300, Math.min(760, place.clientWidth || 700));
    const {plot, before, words, head, body} = draw(values, width);
    answer.textContent = words;
    picture.replaceChildren(
      ...[before, plot].filter(Boolean).map(options => drawn(
        options, width, `Figure: ${words}`, options == before)));
    numbers.querySelector('.figure-table')?.remove();
    numbers.append(table(name, head, body));
  };
  const most = limits?.(values) ?? {};
  for (const one of controls)
    form.append(rows[one.name] = control(
      one, values[one.name], most[one.name] ?? one.largest, (key, value) => {
        values[key] = value;
        redraw();
        if (begun) writeAddress(name, controls, values);
      }));
  place.replaceChildren(form, answer, picture, numbers);
  begun = true;
  redraw();
  let width = place.clientWidth;
  new ResizeObserver(() => {
    if (place.clientWidth != width) {
      width = place.clientWidth;
      redraw();
    }
  }).observe(place);
}

figure('allreduce', {
  controls: [
    choice('algorithm', 'algorithm',
           ['ring', 'star', 'direct', 'tree', 'halving-doubling']),
    slider('k', 'devices', 2, 8, 4),
    slider('now', 'round', 1, 6, 1),
  ],
  limits: ({algorithm, k}) => ({
    now: Math.max(...MESSAGES[algorithm][k].map(([round]) => round))}),
  draw: ({algorithm, k, now}) => {
    const all = MESSAGES[algorithm][k];
    const last = Math.max(...all.map(([round]) => round));
    const current = all.filter(([round]) => round == now);
    const largest = round => Math.max(
      ...all.filter(([r]) => r == round).map(message => message[3])) / SIZE;
    const time = upTo(last).reduce((sum, i) => sum + largest(i + 1), 0);
    const most = largest(now);
    const alike = current.every(([, , , n]) => n == current[0][3]);
    const size = (alike ? '' : 'at most ') + (most == 1 ? 'the whole array'
      : `${digits(most)} of the array`);
    const sums = upTo(k).map(i => [
      `device ${i}`,
      digits(all.filter(m => m[1] == i).reduce((n, m) => n + m[3], 0) / SIZE),
      all.filter(m => m[1] == i).length,
      digits(all.filter(m => m[2] == i).reduce((n, m) => n + m[3], 0) / SIZE),
    ]);
    return {
      words: `Round ${now} of ${last}: ${several(current.length, 'message')}` +
        `, each of ${size}. One round after the other, a link carries ` +
        `${several(time, 'array')}.`,
      plot: {
        height: 60 + 34 * k, marginLeft: 70, marginTop: 25,
        x: {domain: [0, last], ticks: upTo(last + 1), label: 'rounds',
            tickFormat: 'd'},
        y: {domain: upTo(k), type: 'point', label: null,
            tickFormat: i => `device ${i}`},
        marks: [
          Plot.ruleY(upTo(k), {stroke: 'currentColor', strokeOpacity: 0.25}),
          Plot.arrow(all, {
            x1: m => m[0] - 1, y1: m => m[1], x2: m => m[0], y2: m => m[2],
            stroke: m => DEVICES[m[1]],
            strokeOpacity: m => m[0] == now ? 1 : m[0] < now ? 0.45 : 0.2,
            strokeWidth: m => 1 + 4 * m[3] / SIZE, headLength: 6, inset: 3,
          }),
        ],
      },
      head: ['', 'arrays sent', 'messages sent', 'arrays received'],
      body: sums,
    };
  },
});

figure('pipeline', {
  controls: [
    choice('schedule', 'schedule', Object.keys(MODEL.SCHEDULES)),
    slider('p', 'stages', 1, 8, 4),
    slider('m', 'micro-batches', 1, 16, 6),
  ],
  draw: ({schedule, p, m}, width) => {
    const calls = MODEL.timeSteps(MODEL.SCHEDULES[schedule](p, m));
    const steps = Math.max(...calls.map(([step]) => step)) + 1;
    const live = MODEL.live(calls, p);
    const idle = 1 - calls.length / (p * steps);
    const roomy = (width - 85) / steps > (m > 10 ? 15 : 9);
    return {
      words: `${steps} time steps; a device is idle in ${percent(idle)} of ` +
        `them, the bubble. The first stage keeps the activations of ` +
        `${live[0]} micro-batch${live[0] > 1 ? 'es' : ''} at once.`,
      plot: {
        height: 70 + 30 * p, marginLeft: 65, padding: 0.04,
        x: {domain: upTo(steps), type: 'band', label: 'time step',
            ticks: upTo(steps).filter(i => i % Math.ceil(steps / 12) == 0)},
        y: {domain: upTo(p), type: 'band', label: null,
            tickFormat: s => `stage ${s}`},
        marks: [
          Plot.cell(upTo(p * steps), {
            x: i => i % steps, y: i => Math.floor(i / steps),
            fill: 'currentColor', fillOpacity: roomy ? 0.08 : 0.2,
            stroke: 'currentColor', strokeOpacity: roomy ? 0.55 : 0,
            inset: 0.5,
          }),
          Plot.cell(calls, {
            x: c => c[0], y: c => c[1], fill: c => DEVICES[c[1]],
            fillOpacity: c => c[2] == 'forward' ? 0.35 : 1,
          }),
          Plot.text(roomy ? calls : [], {
            x: c => c[0], y: c => c[1], text: c => c[3],
            fill: c => c[2] == 'forward' ? 'currentColor'
              : c[1] ? 'black' : 'white', // on blue
          }),
        ],
      },
      head: ['', 'time steps with work', 'live micro-batches, at most'],
      body: upTo(p).map(s => [`stage ${s}`, 2 * m, live[s]]),
    };
  },
});

figure('memory', {
  controls: [
    choice('network', 'network', Object.keys(NETWORKS)),
    slider('power', 'devices', 0, 13, 6, i => String(2 ** i)),
    slider('batch', 'sequences each', 1, 16, 1),
    choice('precision', 'numbers', ['mixed', 'float32']),
    choice('recomputation', 'recomputation', ['selective', 'none', 'full']),
    choice('card', 'card (GB)',
           ['80', '16', '24', '40', '141', '192']),
  ],
  draw: ({network, power, batch, precision, recomputation, card}) => {
    const kinds = ['parameters', 'gradients', 'optimizer', 'activations'];
    const held = upTo(4).map(stage => MODEL.memory(
      network, 2 ** power, stage, batch, precision, recomputation));
    const totals = held.map(parts => parts.reduce((sum, x) => sum + x, 0));
    const fits = totals.findIndex(total => total <= Number(card));
    const name = stage => stage ? `ZeRO ${stage}` : 'plain';
    const parts = held.flatMap((row, stage) => row.map(
      (value, i) => ({stage: name(stage), kind: kinds[i], value})));
    return {
      words: fits < 0
        ? `Nothing fits on ${card} GB: ZeRO 3 needs ${digits(totals[3])} GB.`
        : `${fits ? `ZeRO ${fits}` : 'Plain data parallelism'} fits on ` +
          `${card} GB: it needs ${digits(totals[fits])} GB per device.`,
      plot: {
        height: 230, marginLeft: 60,
        x: {label: 'GB per device', grid: true},
        y: {domain: upTo(4).map(name), label: null},
        color: {domain: kinds, range: DEVICES, legend: true},
        marks: [
          Plot.barX(parts, {x: 'value', y: 'stage', fill: 'kind',
                            order: kinds}),
          Plot.ruleX([Number(card)], {stroke: 'currentColor', strokeWidth: 2,
                                      strokeDasharray: '5,3'}),
          Plot.ruleX([0]),
        ],
      },
      head: ['', ...kinds.map(kind => `${kind} (GB)`), 'together (GB)'],
      body: held.map((row, stage) => [name(stage),
        ...[...row, totals[stage]].map(digits)]),
    };
  },
});

figure('step', {
  controls: [
    choice('run', 'published run', Object.keys(RUNS)),
    choice('scaling', 'scaling', ['weak', 'strong']),
    slider('power', 'machines', 0, 10, 5, i => String(2 ** i)),
    slider('size', 'minibatch', -3, 4, 0, (i, {run, scaling}) =>
      scaling == 'weak' ? `${2 ** i * SHARDS[run]} each`
        : count(2 ** i * SHARDS[run] * RUNS[run][1])),
    slider('link', 'link (Gbit/s)', -6, 6, 0,
           (i, {run}) => digits(RUNS[run][3] / 1e9 * 2 ** (i / 2))),
    slider('overlap', 'can hide it', 0, 100, 67, i => `${i} %`),
    slider('spread', 'step times vary', 0, 30, 5, i => `± ${i} %`),
  ],
  limits: ({run, scaling, size}) => ({
    power: scaling == 'weak' ? 10 : Math.min(
      10, Math.log2(2 ** size * SHARDS[run] * RUNS[run][1]))}),
  draw: ({run, scaling, power, size, link, overlap, spread}) => {
    const [seconds, machines, bytes, bits, algorithm, found] = RUNS[run];
    const batch = n => 2 ** size * SHARDS[run]
      * (scaling == 'weak' ? n : machines);
    const step = (n, hidden) => MODEL.step(
      batch(n), n, seconds / SHARDS[run], bytes, bits * 2 ** (link / 2),
      algorithm, hidden, spread / 100);
    const efficiency = (n, hidden) => {
      const [compute, , , , total] = step(n, hidden);
      return 100 * compute / total;
    };
    const own = overlap / 100, k = 2 ** power;
    const counts = upTo(11).map(i => 2 ** i).filter(n => n <= batch(n));
    const [compute, late, exchange, shown, total] = step(k, own);
    const ms = time => digits(1e3 * Math.max(time, 0));
    const speedup = n => digits(n * efficiency(n, own) / 100);
    return {
      words: `${k} machine${k > 1 ? 's' : ''}, ${count(batch(k))} examples: ` +
        `${ms(compute)} ms of computation. The exchange takes ` +
        `${ms(exchange)} ms, of which ${ms(exchange - shown)} ms are hidden. ` +
        `A machine waits ${ms(late + shown)} ms` +
        (spread ? `, ${ms(late)} ms of them for the slowest` : '') +
        (k > 1 ? `: ${speedup(k)} times as fast as one.` : '.'),
      before: {
        height: 105, marginLeft: 60,
        x: {label: 'ms of one step'},
        y: {domain: ['machine', 'its link'], label: null},
        color: {domain: ['computes', 'waits for the slowest',
                         'waits for the sum', 'exchange'],
                range: [0, 4, 1, 2].map(i => DEVICES[i]), legend: true},
        marks: [Plot.barX([
          ['machine', 'computes', 0, compute],
          ['machine', 'waits for the slowest', compute, compute + late],
          ['machine', 'waits for the sum', compute + late, total],
          ['its link', 'exchange', total - exchange, total],
        ], {x1: d => 1e3 * d[2], x2: d => 1e3 * d[3], y: d => d[0],
            fill: d => d[1]})],
      },
      plot: {
        height: 300, marginLeft: 60,
        x: {type: 'log', base: 2, domain: [1, 1024], label: 'machines',
            tickFormat: 'd'},
        y: {domain: [0, 100], label: 'efficiency (%)', grid: true},
        marks: [
          Plot.ruleX(counts, {
            x: n => n, y1: n => efficiency(n, 0), y2: n => efficiency(n, 1),
            stroke: DEVICES[5], strokeOpacity: 0.5, strokeWidth: 8,
          }),
          Plot.line(counts, {
            x: n => n, y: n => efficiency(n, own),
            stroke: DEVICES[0], strokeWidth: 2,
          }),
          Plot.dot([k], {
            x: n => n, y: n => efficiency(n, own), fill: DEVICES[0], r: 5,
          }),
          Plot.text([machines], {
            x: n => n, y: 100 * found, text: () => 'published', dy: 16,
            fill: 'currentColor', strokeWidth: 4,
            stroke: 'var(--pst-color-background, white)',
          }),
          Plot.dot([machines], {
            x: n => n, y: 100 * found, symbol: 'diamond', r: 7,
            fill: DEVICES[1],
          }),
        ],
      },
      head: ['machines', 'examples', 'computes (ms)',
             'waits for the slowest (ms)', 'exchange (ms)',
             'waits for the sum (ms)', 'speedup',
             'efficiency if nothing is hidden', 'as chosen'],
      body: counts.map(n => [n, batch(n)].map(count).concat(
        step(n, own).slice(0, 4).map(ms), speedup(n),
        [0, own].map(hidden => percent(efficiency(n, hidden) / 100)))),
    };
  },
});

figure('planner', {
  controls: [
    choice('network', 'network', Object.keys(NETWORKS)),
    slider('power', 'devices', 0, 10, 6, i => String(2 ** i)),
    slider('batch', 'sequences in all', 0, 11, 8, i => String(2 ** i)),
    choice('card', 'card (GB)', ['80', '24', '40', '141', '192']),
  ],
  draw: ({network, power, batch, card}, width) => {
    const found = MODEL.plans(network, 2 ** power, 2 ** batch, Number(card));
    const kinds = ['no', 'selective', 'full'];
    const best = found[0];
    const shade = ([seconds]) => best[0] / seconds;
    const degrees = i => [...new Set(found.map(row => row[2][i]))].sort(
      (a, b) => a - b);
    const roomy = (width - 80) / degrees(1).length > 50;
    const cell = {x: row => row[2][1], y: row => row[2][2]};
    const say = ([seconds, memory, [dp, tp, pp, cp, zero, m, kind]]) =>
      `${dp} (data) × ${tp} (tensor) × ${pp} (pipeline) × ${cp} (context), ` +
      `ZeRO ${zero}, ${m} micro-batch${m > 1 ? 'es' : ''}, ${kinds[kind]} ` +
      `recomputation: ${digits(seconds)} s per step, ${digits(memory)} GB.`;
    return {
      words: best ? `The fastest plan that fits on ${card} GB: ${say(best)}`
        : `No plan fits on ${card} GB: try another number of devices.`,
      plot: {
        height: 80 + 36 * degrees(2).length, marginLeft: 60, padding: 0.04,
        x: {domain: degrees(1), type: 'band', label: best && 'tensor'},
        y: {domain: degrees(2), type: 'band', label: best && 'pipeline'},
        marks: [
          Plot.cell(found, {...cell, fill: DEVICES[0],
                            fillOpacity: row => 0.7 * shade(row)}),
          Plot.text(found, {
            ...cell, fill: 'currentColor',
            text: row => digits(row[0]) + (roomy ? ' s\n' : '\n') +
              percent(row[1] / card),
          }),
        ],
      },
      head: ['tensor', 'pipeline', 'data', 'context', 'ZeRO',
             'micro-batches', 'recomputation', 's per step', 'GB held',
             'GB sent: data', 'tensor', 'pipeline', 'context'],
      body: found.map(([seconds, memory, plan]) => {
        const [dp, tp, pp, cp, zero, m, kind] = plan;
        const [, , ...sent] = MODEL.planCosts(network, 2 ** batch, plan);
        return [tp, pp, dp, cp, zero, m, kinds[kind],
                ...[seconds, memory, ...sent].map(digits)];
      }),
    };
  },
});

figure('rounding', {
  controls: [
    choice('bug', 'bug', ['scale', 'missing', 'none']),
    slider('size', 'size of the bug', 0, 32, 20,
           i => (10 ** (-i / 4)).toExponential(1)),
    slider('n', 'examples', 3, 11, 7, i => String(2 ** i)),
    slider('k', 'devices', 1, 8, 4),
    slider('seed', 'seed', 1, 20, 1),
  ],
  draw: ({bug, size, n, k, seed}) => {
    const [error, bound, errors] = MODEL.rounding(
      bug, 10 ** (-size / 4), 2 ** n, k, seed);
    const floor = 1e-9, shown = x => Math.max(x, floor);
    const dots = [
      ...errors.map(x => ({x, what: 'other orders'})),
      {x: error, what: 'the step'},
    ];
    const times = digits(error / bound);
    return {
      words: error > bound
        ? `A bug: the step is ${times} times as far away as rounding explains.`
        : bug == 'none' ? 'Equal up to rounding, as it should be.'
          : 'Equal up to rounding: a bug as small as this one is not seen.',
      plot: {
        height: 170, marginLeft: 85,
        x: {type: 'log', domain: [floor, 1], label: 'relative error',
            grid: true, tickFormat: x => x.toExponential(0)},
        y: {domain: ['other orders', 'the step'], label: null,
            type: 'point'},
        marks: [
          Plot.rect([0], {x1: floor, x2: bound, fill: DEVICES[2],
                          fillOpacity: 0.15}),
          Plot.ruleX([bound], {stroke: DEVICES[2], strokeWidth: 2}),
          Plot.dot(dots, {
            x: d => shown(d.x), y: 'what', r: 5, fillOpacity: 0.6,
            fill: d => d.what == 'the step' ? DEVICES[1] : DEVICES[0],
            stroke: 'currentColor',
          }),
          Plot.text([bound], {x: b => b, text: () => 'bound', dy: -8,
                              frameAnchor: 'top', fill: 'currentColor'}),
        ],
      },
      head: ['', 'relative error'],
      body: [['the step', error.toExponential(1)],
             ['bound, four spreads', bound.toExponential(1)],
             ...errors.map((x, i) => [`order ${i + 1}`,
                                      x.toExponential(1)])],
    };
  },
});
})();
