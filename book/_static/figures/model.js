/* What book/figure_model.py computes, for the figures; see there. */
const MODEL = {};

MODEL.allreduceSeconds = (algorithm, k, bytes, alpha, beta) => {
  const rounds = Math.ceil(Math.log2(k));
  const power = 2 ** Math.floor(Math.log2(k));
  const extra = power < k ? 2 : 0; // the devices beyond a power of two
  const [messages, arrays] = {
    'star': [2 * (k - 1), 2 * (k - 1)],
    'direct': [2 * (k - 1), 2 * (k - 1) / k],
    'ring': [2 * (k - 1), 2 * (k - 1) / k],
    'tree': [2 * rounds, 2 * rounds],
    'halving-doubling': [2 * Math.log2(power) + extra,
                         2 * (power - 1) / power + extra],
  }[algorithm];
  return alpha * messages + beta * arrays * bytes;
};

MODEL.step = (batch, k, perExample, bytes, bits, algorithm, overlap) => {
  const compute = perExample * Math.ceil(batch / k);
  const exchange = MODEL.allreduceSeconds(algorithm, k, bytes, 5e-5, 8 / bits);
  const shown = exchange - Math.min(exchange, overlap * compute);
  return [compute, shown, compute + shown];
};

MODEL.stageOrder = (m, maxLive) => {
  const order = [];
  for (let i = 0; i < maxLive; i++) order.push(['forward', i]);
  for (let i = 0; i < m; i++)
    order.push(['backward', i], ['forward', i + maxLive]);
  return order.filter(([phase, i]) => i < m);
};

MODEL.SCHEDULES = {
  'GPipe': (p, m) => Array.from({length: p}, () => MODEL.stageOrder(m, m)),
  '1F1B': (p, m) => Array.from(
    {length: p}, (_, s) => MODEL.stageOrder(m, p - s)),
};

MODEL.timeSteps = orders => {
  const p = orders.length, done = new Map(), calls = [];
  orders = orders.map(order => [...order]);
  const ready = (s, phase, i, step) => {
    const need = phase == 'forward' ? (s ? [s - 1, phase, i] : null)
      : s < p - 1 ? [s + 1, phase, i] : [s, 'forward', i];
    return !need || done.get(need.join()) < step;
  };
  for (let step = 0; orders.some(order => order.length); step++) {
    const now = [];
    orders.forEach((order, s) => {
      if (order.length && ready(s, ...order[0], step))
        now.push([step, s, ...order.shift()]);
    });
    for (const [, s, phase, i] of now) done.set([s, phase, i].join(), step);
    calls.push(...now);
  }
  return calls;
};

MODEL.live = (calls, p) => {
  const held = Array(p).fill(0), largest = Array(p).fill(0);
  for (const [, s, phase] of calls) {
    held[s] += phase == 'forward' ? 1 : -1;
    largest[s] = Math.max(largest[s], held[s]);
  }
  return largest;
};

MODEL.memory = (network, k, stage, batch, precision, recomputation) => {
  const [params, layers, width, heads, length] = NETWORKS[network];
  const each = {'mixed': [2, 2, 12], 'float32': [4, 4, 8]}[precision];
  const held = each.map(
    (bytes, i) => params * bytes / (stage >= 3 - i ? k : 1));
  const tokens = length * batch * width;
  const layer = {
    'none': 34 * tokens + 5 * heads * length ** 2 * batch,
    'selective': 34 * tokens,
    'full': 2 * tokens,
  }[recomputation] * (precision == 'float32' ? 2 : 1);
  return [...held, layers * layer].map(bytes => bytes / 1e9);
};

MODEL.randomNumbers = (seed, n) => Array.from({length: n}, () => {
  seed = seed * 48271 % 2147483647;
  return seed / 2147483647;
});

MODEL.rounding = (bug, size, n, k, seed) => {
  const round = Math.fround, numbers = MODEL.randomNumbers(seed, 2 * n);
  const add = terms => terms.reduce((total, term) => round(total + term), 0);
  const terms = numbers.slice(0, n).map(
    (x, i) => round(x * (x - 0.5 * numbers[n + i])));
  const right = terms.reduce((total, term) => total + term, 0);
  const errorOf = total => Math.abs(total - right) / right;
  const errors = Array.from({length: 8}, (_, i) => {
    const keys = MODEL.randomNumbers(seed + i + 1, n);
    const order = [...keys.keys()].sort((a, b) => keys[a] - keys[b]);
    return errorOf(add(order.map(j => terms[j])));
  });
  const spread = Math.max(...errors, 2 ** -23);
  if (bug == 'missing') terms[n - 1] = round(terms[n - 1] * (1 - size));
  const ends = Array.from({length: k + 1}, (_, i) =>
    i * Math.floor(n / k) + Math.min(i, n % k));
  let total = add(Array.from({length: k}, (_, i) =>
    add(terms.slice(ends[i], ends[i + 1]))));
  if (bug == 'scale') total = round(total * (1 + size));
  return [errorOf(total), 4 * spread, errors];
};
