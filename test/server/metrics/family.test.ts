import { expect, test } from 'vitest';
import { type Emit, type Family, textParts } from '../../../src/server/metrics/family.ts';
import { Distribution } from '../../../src/server/metrics/tally.ts';

const pageOf = (...of: Parameters<typeof textParts>): string =>
  Array.from(textParts(...of), (part) => part.toString()).join('');

test('a page has labels, then further ones, times, and escaped texts', () => {
  const labels = { pod: 'web', text: 'a "b"\\\n' };
  const page = pageOf([
    { name: 'none', type: 'gauge', help: 'Without series.', samples: [] },
    {
      ...{ name: 'sent_total', type: 'counter', help: 'Bytes \\ sent\nso far' },
      samples: [
        { labels, value: 0.5, at: 1000 },
        { labels, extraLabels: { interface: 'eth0' }, value: 7 },
        { labels: {}, extraLabels: { interface: 'eth1' }, value: NaN, at: 1000 },
        { labels: {}, value: Infinity },
        { labels: {}, value: -Infinity },
      ],
    },
  ]);
  const pairs = String.raw`pod="web",text="a \"b\"\\\n"`;
  expect(page).toBe(
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
  expect(pageOf([family]).split('\n').slice(2)).toEqual([
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
  expect(pageOf([list, called])).toBe(lines.join('\n'));
});

test('a family is read when the parts before it are taken', () => {
  const read: string[] = [];
  function* families(): Generator<Family> {
    for (const name of ['short', 'long', 'last']) {
      read.push(name);
      const samples = Array.from({ length: name === 'long' ? 50_000 : 1 }, (_, value) => ({ labels: {}, value }));
      yield { name, type: 'gauge', help: '', samples };
    }
  }
  const parts = textParts(families());
  const first = parts.next().value?.toString() ?? '';
  expect(read).toEqual(['short', 'long']);
  const rest = Array.from(parts, (part) => part.toString());
  expect(rest.length).toBeGreaterThan(1);
  expect(first + rest.join('')).toBe(pageOf([...families()]));
});

test('a long page takes the bytes of three parts, and a part stays while the next one is made', () => {
  const families = Array.from({ length: 30 }, (_, of): Family => {
    const samples = Array.from({ length: 5000 }, (__, value) => ({ labels: {}, value }));
    return { name: `family_${of}`, type: 'gauge', help: '', samples };
  });
  const buffers = new Set<ArrayBufferLike>();
  let text = '';
  let before: Buffer = Buffer.alloc(0);
  for (const part of textParts(families)) {
    text += before.toString();
    before = part;
    buffers.add(part.buffer);
  }
  expect(text + before.toString()).toBe(pageOf(families));
  expect(text.length).toBeGreaterThan(10 * 128 * 1024);
  expect(buffers.size).toBe(3);
});
