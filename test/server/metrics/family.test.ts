import { expect, test } from 'vitest';
import { textPage } from '../../../src/server/metrics/family.ts';
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
