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

MODEL.refuses = (network, tp, cp) => {
  const [, , , heads, length, , , keys] = NETWORKS[network];
  return heads % tp || keys % tp && tp % keys || length % cp
    || cp > 1 && length / cp < 4096;
};

/* When 1F1B's last stage is done: see run_orders of chapter 24. */
MODEL.pipelineSeconds = (forward, backward, m) => {
  const p = forward.length, run = Math.min(m, 4 * p);
  const [f, b] = [0, 1].map(() => Array.from({length: p}, () => []));
  const free = Array(p).fill(0);
  for (let left = 2 * p * run; left;)
    for (let s = 0; s < p; s++)
      while (b[s].length < run) {
        const i = f[s].length, j = b[s].length;
        const back = i == run || i == p - s + j;
        const arrived = back ? (s < p - 1 ? b[s + 1] : f[s])[j]
          : s ? f[s - 1][i] : 0;
        if (arrived === undefined) break;
        free[s] = Math.max(free[s], arrived) + (back ? backward : forward)[s];
        (back ? b : f)[s].push(free[s]);
        left--;
      }
  const times = forward.map((seconds, s) => seconds + backward[s]);
  return Math.max(...free) + (m - run) * Math.max(...times);
};

/* Plans that take longer than `limit` or do not fit have Infinity seconds. */
MODEL.planCosts = (network, batch, [dp, tp, pp, cp, zero, m, kind],
                   limit = Infinity, gigabytes = Infinity) => {
  const [all, depth, width, heads, length, words, tied, keys] =
    NETWORKS[network];
  const table = words * width, layer = (all - table * (2 - tied)) / depth;
  const inputs = length * width, scores = 4 * length * inputs;
  const full = kind == 2, copies = Math.max(1, tp / keys) - 1;
  const extra = copies * 2 * width ** 2 * keys / heads; // key heads held twice
  const forward = 2 * length * (layer + extra) + scores;
  const all_kept = 2 * 17 * inputs + 4 * heads * length;
  const kept = [all_kept, all_kept, 2 * inputs][kind];
  const again = scores / 2 + (full ? forward : 0);
  const share = batch / dp / m / cp / tp, k = dp * cp;
  const degrees = {tp, cp, pp, dp}, axes = Object.keys(degrees);
  const extent = names => names.reduce((n, name) => n * degrees[name], 1);
  const chosen = axes.reduce((sets, axis) => [
    ...sets, ...sets.map(set => [...set, axis])], [[]]);
  const places = chosen.filter(inside => (8 % extent(inside) == 0
    || extent(inside) == extent(axes) && extent(axes) <= 8)
    && axes.every(axis => degrees[axis] > 1 || inside.includes(axis)));
  const most = Array(5).fill(0);
  const stages = Array.from({length: pp}, (_, s) => {
    const last = s == pp - 1, spare = pp == depth + 2;
    const own = spare ? +(s > 0 && !last)
      : Math.floor(depth / pp) + (s < depth % pp);
    const twice = tied && pp > 1 && (last || s == 0);
    const ends = table * ((s == 0) + (last && (pp > 1 || !tied)));
    const held = (own * (layer + extra) + ends) / tp;
    const whole = k > 1 && Math.max(own && layer + extra, ends && table) / tp;
    const shared = held * (k - 1) / k * 2;
    const end = [shared * [2, 2, 1, 0][zero],
                 4 * own * extra / tp, twice * 2 * table / tp];
    const reduced = share * own * 8 * inputs * (tp - 1);
    const ring = share * own * 4 * inputs * keys / heads * (copies + 1);
    const passes = [[
      share * (own * forward + last * 2 * length * table), reduced,
      ring * (cp - 1), share * 2 * inputs * !last, shared * (zero == 3),
    ], [
      share * (own * (2 * forward + again) + last * 4 * length * table),
      reduced * (1 + full), ring * ((2 + full) * (cp - 1) + (cp > 1)),
      share * 2 * inputs * (s > 0), shared * [0, 0, 1, 2][zero],
    ]];
    const working = Math.max(own && all_kept - kept,
                             last && 4 * length * words);
    const memory = share * (own * kept * Math.min(m, pp - s) + working)
      + held * [2, 2, 12].reduce(
        (sum, bytes, j) => sum + bytes / (zero >= 3 - j ? k : 1), 0)
      + whole * [0, 0, 2, 4][zero];
    const sum = j => m * (passes[0][j] + passes[1][j]);
    [memory, sum(4) + end[0], sum(1) + end[1], sum(3) + end[2], sum(2)].forEach(
      (x, j) => most[j] = Math.max(most[j], x));
    return [passes, end];
  });
  const fit = most[0] <= 1e9 * gigabytes ? places : [];
  const seconds = fit.reduce((least, inside) => {
    const rate = (...names) => extent(names.filter(
      name => !inside.includes(name))) > 1 ? 50e9 : 450e9;
    const [forward, backward] = [0, 1].map(i => stages.map(([passes]) => {
      const [flops, reduced, ring, passed, shared] = passes[i];
      return flops / (0.554 * 989e12) + reduced / rate('tp')
        + ring / rate('cp') + passed / rate('pp') + shared / rate('dp', 'cp');
    }));
    const end = Math.max(...stages.map(([, end]) => end[0] / rate('dp', 'cp')
      + end[1] / rate('tp') + end[2] / rate('pp')));
    // A stage waits at least for the ones before it, on both ways.
    let before = 0, bound = 0;
    forward.forEach((seconds, s) => {
      bound = Math.max(bound, before + m * (seconds + backward[s]));
      before += seconds + backward[s];
    });
    return bound + end > Math.min(least, limit) ? least
      : Math.min(least, MODEL.pipelineSeconds(forward, backward, m) + end);
  }, Infinity);
  return [seconds, ...most.map(bytes => bytes / 1e9)];
};

MODEL.plans = (network, k, batch, gigabytes) => {
  const depth = NETWORKS[network][1], best = {};
  const factors = n => Array.from({length: n}, (_, i) => i + 1)
    .filter(i => n % i == 0);
  for (const dp of factors(k)) for (const tp of factors(k / dp))
    for (const pp of factors(k / dp / tp)) {
      const cp = k / dp / tp / pp;
      if (batch % dp || pp > depth + 2 || MODEL.refuses(network, tp, cp)) continue;
      for (const m of factors(batch / dp))
        for (const zero of dp * cp > 1 ? [0, 1, 2, 3] : [0])
          for (const kind of [0, 2]) {
            const plan = [dp, tp, pp, cp, zero, m, kind];
            const old = best[[tp, pp]] ?? [Infinity];
            const [seconds, memory] = MODEL.planCosts(
              network, batch, plan, old[0] * (1 + 1e-9), gigabytes);
            if (seconds * (1 + 1e-9) < old[0]
                || seconds < old[0] * (1 + 1e-9) && memory < old[1])
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
