/* The charts of the first page. Their data comes with the numbers, in an element that is replaced when there is news; the charts
   stay where they are and take the new points. */
'use strict';
(() => {
  const { one, all } = window.ferrule;
  if (!window.uPlot || !one('[data-plot]')) return;
  /* Tokens are pairs; only a real element tells which one counts now. */
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  let shades = {};
  function shade(name) {
    if (!shades[name]) {
      probe.style.color = `var(${name})`;
      shades[name] = getComputedStyle(probe).color;
    }
    return shades[name];
  }

  const two = number => String(number).padStart(2, '0');
  const clock = seconds => { const at = new Date(1000 * seconds); return `${two(at.getHours())}:${two(at.getMinutes())}`; };
  function took(ms) {
    if (ms === null || ms === undefined) return '–';
    if (ms < 0.05) return `${Math.round(1000 * ms)} µs`;
    if (ms < 9.95) return `${ms.toFixed(1)} ms`;
    if (ms < 999.5) return `${Math.round(ms)} ms`;
    const seconds = ms / 1000;
    if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
    const whole = Math.round(seconds);
    if (whole < 3600) return `${Math.floor(whole / 60)} m ${two(whole % 60)} s`;
    return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole % 3600 / 60))} m`;
  }
  const tick = ms => ms === 0 ? '0' : ms >= 1000 ? `${+(ms / 1000).toFixed(1)} s` : `${+ms.toFixed(1)} ms`;

  let points = null;
  function read() {
    const slot = one('#points');
    if (!slot) return false;
    points = JSON.parse(slot.dataset.points);
    const said = one('#charts-said');
    if (said && said.textContent !== slot.dataset.said) said.textContent = slot.dataset.said;
    return true;
  }
  const names = { latency: ['p50', 'p95', 'p99'], calls: ['succeeded', 'failed', 'denied'] };
  /* Bars stand on one another: each is drawn up to the sum of those below it, the highest first. */
  function stacked() {
    const sums = points.at.map(() => 0);
    return names.calls.map(name => points[name].map((value, at) => (sums[at] += value))).reverse();
  }
  const data = {
    latency: () => [points.at, ...names.latency.map(name => points[name])],
    calls: () => [points.at, ...stacked()],
  };

  /* The legend tells the values under the pointer, else the latest. */
  function tell(kind, at) {
    names[kind].forEach(name => {
      const slot = one(`[data-legend="${name}"]`), values = points[name];
      let place = at;
      if (place === null || place === undefined) {
        place = values.length - 1;
        while (kind === 'latency' && place > 0 && values[place] === null) place--;
      }
      const text = kind === 'latency' ? took(values[place]) : values[place].toLocaleString('en');
      if (slot.textContent !== text) slot.textContent = text;
    });
  }

  function axes(values) {
    const shared = { stroke: () => shade('--ink-3'), font: '11px system-ui, sans-serif', ticks: { show: false } };
    const every = [600, 1200];
    return [
      { ...shared, grid: { show: false }, size: 20, gap: 2, space: 60, incrs: every, values: (_, marks) => marks.map(clock) },
      { ...shared, grid: { stroke: () => shade('--line'), width: 1 }, size: 52, gap: 6, space: 34, values: (_, marks) => marks.map(values) },
    ];
  }
  const fills = ['--deny-fill', '--bad-fill', '--ok-fill'];
  /* Few points make no line: then each is drawn. */
  const dots = { size: 5, show: (chart, place) => chart.data[place].filter(value => value !== null).length < 3 };
  const series = {
    latency: () => [
      { stroke: () => shade('--act'), width: 1.5, spanGaps: true, points: dots },
      { stroke: () => shade('--plot-2'), width: 1.5, spanGaps: true, points: dots },
      { stroke: () => shade('--plot-3'), width: 1.25, dash: [4, 3], spanGaps: true, points: dots },
    ],
    calls: () => fills.map(name => ({
      fill: () => shade(name), stroke: () => shade(name), width: 0, points: { show: false },
      paths: uPlot.paths.bars({ size: [0.8, 14], gap: 1 }),
    })),
  };
  const top = most => { const wanted = most > 0 ? most * 1.1 : 1, power = 10 ** Math.floor(Math.log10(wanted)); return Math.ceil(wanted / power * 2) * power / 2; };
  function options(kind, box) {
    return {
      width: box.clientWidth, height: box.clientHeight, padding: [8, 16, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'latency' } },
      scales: {
        x: { time: false, range: (_, from, to) => kind === 'calls' ? [from - 30, to + 30] : [from, to] },
        y: { range: (_, from, to) => [0, top(to)] },
      },
      axes: axes(kind === 'latency' ? tick : mark => Number.isInteger(mark) ? mark.toLocaleString('en') : ''),
      series: [{}, ...series[kind]()],
      hooks: { setCursor: [chart => tell(kind, chart.cursor.idx)] },
    };
  }

  const charts = new Map();
  function draw() {
    all('[data-plot]').forEach(box => {
      const kind = box.dataset.plot, chart = charts.get(box);
      if (chart) { chart.setData(data[kind]()); tell(kind, chart.cursor.idx); return; }
      all('.empty', box).forEach(note => note.remove());
      charts.set(box, new uPlot(options(kind, box), data[kind](), box));
      tell(kind, null);
    });
  }
  function update() {
    if (read() && (charts.size || points.succeeded.some((value, at) => value || points.failed[at] || points.denied[at]))) draw();
  }

  const repaint = () => { shades = {}; charts.forEach(chart => chart.redraw(true, true)); };
  document.addEventListener('ferrule:theme', repaint);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
  const sizes = new ResizeObserver(() => charts.forEach((chart, box) => {
    if (chart.width !== box.clientWidth) chart.setSize({ width: box.clientWidth, height: box.clientHeight });
  }));
  all('[data-plot]').forEach(box => sizes.observe(box));
  /* Time passes without news, too: the last minute becomes the one before. */
  setInterval(() => { if (!document.hidden) document.body.dispatchEvent(new CustomEvent('live:calls')); }, 30000);
  document.addEventListener('htmx:afterSwap', event => { if (event.detail.target.id === 'now') update(); });
  update();
})();
