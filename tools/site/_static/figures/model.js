/* What tools/site/figure_model.py computes, for the figures; see there. */
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

MODEL.step = (batch, k, perExample, bytes, bits, algorithm, overlap,
              spread) => {
  const compute = perExample * Math.ceil(batch / k), n = QUANTILES.length;
  const slowest = compute * QUANTILES.reduce((sum, z, i) => sum
    + (((i + 1) / n) ** k - (i / n) ** k) * (1 + spread * z), 0);
  const exchange = MODEL.allreduceSeconds(algorithm, k, bytes, 5e-5, 8 / bits);
  const shown = exchange - Math.min(exchange, overlap * slowest);
  return [compute, slowest - compute, exchange, shown, slowest + shown];
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

MODEL.planCosts = (network, batch, [dp, tp, pp, cp, zero, m, kind]) => {
  const [all, depth, width, heads, length, words, tied, keys] =
    NETWORKS[network];
  const table = words * width, layer = (all - table * (2 - tied)) / depth;
  const inputs = length * width, scores = 4 * length * inputs;
  const forward = 2 * length * layer + scores, full = kind == 2;
  const all_kept = 17 * inputs + 2 * heads * length;
  const kept = 2 * [all_kept, all_kept, inputs][kind];
  const again = scores / 2 + (full ? forward : 0);
  const share = batch / dp / m / cp / tp, k = dp * cp;
  const degrees = {tp, cp, pp, dp}, axes = Object.keys(degrees);
  const extent = names => names.reduce((n, name) => n * degrees[name], 1);
  const chosen = axes.reduce((sets, axis) => [
    ...sets, ...sets.map(set => [...set, axis])], [[]]);
  const places = chosen.filter(inside => 8 % extent(inside) == 0
    || extent(inside) == extent(axes) && extent(axes) <= 8);
  const moved = 2 * m * share, most = Array(5).fill(0);
  const stages = Array.from({length: pp}, (_, s) => {
    const own = Math.floor(depth / pp) + (s < depth % pp);
    const last = s == pp - 1, twice = tied && pp > 1 && (last || s == 0);
    const held = (own * layer + table * (
      (s == 0) + (last && (pp > 1 || !tied)))) / tp;
    const sent = [
      held * (k - 1) / k * 2 * [2, 2, m + 1, 3 * m][zero],
      moved * own * 4 * inputs * (tp - 1) * (2 + full),
      moved * inputs * ((s > 0) + !last),
      moved * own * 2 * inputs * keys / heads
        * ((3 + full) * (cp - 1) + (cp > 1))];
    const home = twice * 2 * table / tp;
    const flops = own * (3 * forward + again) + last * 6 * length * table;
    const working = Math.max(own && 2 * all_kept - kept,
                             last && 4 * length * words);
    const memory = share * (own * kept * Math.min(m, pp - s) + working)
      + held * [2, 2, 12].reduce(
        (sum, bytes, j) => sum + bytes / (zero >= 3 - j ? k : 1), 0);
    [memory, sent[0], sent[1], sent[2] + home, sent[3]].forEach(
      (x, j) => most[j] = Math.max(most[j], x));
    return [share * flops / (0.554 * 989e12), sent, home];
  });
  const seconds = places.map(inside => {
    const rate = (...names) => extent(names.filter(
      name => !inside.includes(name))) > 1 ? 50e9 : 450e9;
    const times = stages.map(([compute, sent]) => compute + (
      sent[1] / rate('tp') + sent[3] / rate('cp') + sent[2] / rate('pp')) / m);
    const ends = stages.map(([, sent, home]) =>
      sent[0] / rate('dp', 'cp') + home / rate('pp'));
    return (m - 1) * Math.max(...times) + Math.max(...ends)
      + times.reduce((sum, time) => sum + time, 0);
  });
  return [Math.min(...seconds), ...most.map(bytes => bytes / 1e9)];
};

MODEL.plans = (network, k, batch, gigabytes) => {
  const [, depth, , heads, length, , , keys] = NETWORKS[network];
  const best = {}, pieces = Math.max(1, Math.floor(length / 8192));
  const factors = n => Array.from({length: n}, (_, i) => i + 1)
    .filter(i => n % i == 0);
  for (const dp of factors(k)) for (const tp of factors(k / dp))
    for (const pp of factors(k / dp / tp)) {
      const cp = k / dp / tp / pp;
      if (batch % dp || heads % tp || keys % tp || pp > depth || pieces % cp
          || length % cp) continue;
      for (const m of factors(batch / dp)) for (const zero of [0, 1, 2, 3])
        for (const kind of [0, 2]) {
          const plan = [dp, tp, pp, cp, zero, m, kind];
          const [seconds, memory] = MODEL.planCosts(network, batch, plan);
          const old = best[[tp, pp]] ?? [Infinity];
          if (memory <= gigabytes && (seconds * (1 + 1e-9) < old[0]
              || seconds < old[0] * (1 + 1e-9) && memory < old[1]))
            best[[tp, pp]] = [seconds, memory, plan];
        }
    }
  return Object.values(best).sort((a, b) => a[0] - b[0]);
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
