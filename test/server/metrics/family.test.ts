import { expect, test } from 'vitest';
import { type Emit, textPage } from '../../../src/server/metrics/family.ts';
import { Distribution } from '../../../src/server/metrics/tally.ts';

test('a page has labels, then further ones, times, and escaped texts', () => {
  const labels = { pod: 'web', text: 'a "b"\\\n' };
  const page = textPage([
    { name: 'none', type: 'gauge', help: 'Without series.', samples: [] },
    {
      ...{ name: 'sent_total', type: 'counter', help: 'Bytes \\ sent\nso far' },
      samples: [
        { labels, value: 0.5, at: 1000 },
        { labels, further: { interface: 'eth0' }, value: 7 },
        { labels: {}, further: { interface: 'eth1' }, value: NaN, at: 1000 },
        { labels: {}, value: Infinity },
        { labels: {}, value: -Infinity },
      ],
    },
  ]);
  const pairs = String.raw`pod="web",text="a \"b\"\\\n"`;
  expect(page.toString()).toBe(
    [
      String.raw`# HELP sent_total Bytes \\ sent\nso far`,
      '# TYPE sent_total counter',
      `sent_total{${pairs}} 0.5 1000`,
      `sent_total{${pairs},interface="eth0"} 7`,
      'sent_total{interface="eth1"} NaN 1000',
      'sent_total +Inf',
      'sent_total -Inf\n',
    ].join('\n'),
  );
});

test('the bound of a bucket is the last label', () => {
  const runs = new Distribution([0.5]);
  runs.observe(0.25, { probe: 'liveness' });
  const family = { name: 'runs', type: 'histogram', help: 'Runs.', samples: runs.samples('runs') } as const;
  expect(textPage([family]).toString().split('\n').slice(2)).toEqual([
    'runs_bucket{probe="liveness",le="0.5"} 1',
    'runs_bucket{probe="liveness",le="+Inf"} 1',
    'runs_sum{probe="liveness"} 0.25',
    'runs_count{probe="liveness"} 1',
    '',
  ]);
});

test('a page of any length has every sample, also of a family that calls them out', () => {
  const numbers = Array.from({ length: 5000 }, (_, index) => index);
  const labels = { pod: 'wéb', text: 'x'.repeat(50) };
  const list = {
    name: 'listed',
    type: 'gauge',
    help: 'List.',
    samples: numbers.map((value) => ({ labels, value })),
  } as const;
  const called = {
    ...({ name: 'called', type: 'gauge', help: 'Called out.' } as const),
    each: (emit: Emit) => {
      for (const value of numbers) emit(labels, { of: 'each' }, value, 7);
    },
  } as const;
  const pairs = `pod="wéb",text="${'x'.repeat(50)}"`;
  const lines = [
    '# HELP listed List.\n# TYPE listed gauge',
    ...numbers.map((value) => `listed{${pairs}} ${value}`),
    '# HELP called Called out.\n# TYPE called gauge',
    ...numbers.map((value) => `called{${pairs},of="each"} ${value} 7`),
    '',
  ];
  for (const expectedBytes of [0, 1_000_000])
    expect(textPage([list, called], new WeakMap(), expectedBytes).toString()).toBe(lines.join('\n'));
});
