import { BinaryReader } from '@bufbuild/protobuf/wire';
import { expect, test } from 'vitest';
import { MetricFamily } from '../../../src/server/generated/prometheus.ts';
import { binaryParts } from '../../../src/server/metrics/binary-format.ts';
import type { Family } from '../../../src/server/metrics/family.ts';
import { Distribution } from '../../../src/server/metrics/tally.ts';

const pageOf = (...families: Parameters<typeof binaryParts>): Buffer => Buffer.concat([...binaryParts(...families)]);

function decoded(bytes: Uint8Array): MetricFamily[] {
  const reader = new BinaryReader(bytes);
  const families: MetricFamily[] = [];
  while (reader.pos < reader.len) families.push(MetricFamily.decode(reader, reader.uint32()));
  return families;
}

test('a family is written with the numbers of its fields, behind its length', () => {
  const samples = [{ labels: { a: 'b' }, value: 1.5, at: 300 }];
  const bytes = pageOf([{ name: 'up', type: 'gauge', help: 'H', samples }]);
  const label = '0a 06 0a 01 61 12 01 62';
  const gauge = '12 09 09 00 00 00 00 00 00 f8 3f';
  const time = '30 ac 02';
  const metric = `22 16 ${label} ${gauge} ${time}`;
  expect(Buffer.from(bytes).toString('hex')).toBe(`21 0a 02 75 70 12 01 48 18 01 ${metric}`.replaceAll(' ', ''));
});

test('series of a histogram become one metric for each set of labels', () => {
  const runs = new Distribution([0.1, 1]);
  for (const value of [0.05, 0.5, 0.5, 3]) runs.observe(value, { probe: 'liveness' });
  runs.observe(2, { probe: 'startup' });
  const help = 'Runs.';
  expect(
    decoded(pageOf([{ name: 'runs_seconds', type: 'histogram', help, samples: runs.samples('runs_seconds') }])),
  ).toEqual([
    {
      name: 'runs_seconds',
      help,
      type: 'HISTOGRAM',
      metric: [
        {
          label: [{ name: 'probe', value: 'liveness' }],
          histogram: {
            sampleCount: 4n,
            sampleSum: 4.05,
            bucket: [
              { cumulativeCount: 1n, upperBound: 0.1 },
              { cumulativeCount: 3n, upperBound: 1 },
            ],
          },
        },
        {
          label: [{ name: 'probe', value: 'startup' }],
          histogram: {
            sampleCount: 1n,
            sampleSum: 2,
            bucket: [
              { cumulativeCount: 0n, upperBound: 0.1 },
              { cumulativeCount: 0n, upperBound: 1 },
            ],
          },
        },
      ],
    },
  ]);
});

test('zero is written, further labels follow, and a family without series is left out', () => {
  const samples = [{ labels: { pod: 'web' }, extraLabels: { interface: 'eth0' }, value: 0 }];
  expect(
    decoded(
      pageOf([
        { name: 'none', type: 'gauge', help: '', samples: [] },
        { name: 'sent_total', type: 'counter', help: '', samples },
      ]),
    ),
  ).toEqual([
    {
      name: 'sent_total',
      help: '',
      type: 'COUNTER',
      metric: [
        {
          label: [
            { name: 'pod', value: 'web' },
            { name: 'interface', value: 'eth0' },
          ],
          counter: { value: 0 },
        },
      ],
    },
  ]);
});

test('a long page comes in parts, each read when it is wanted', () => {
  const read: string[] = [];
  function* families(): Generator<Family> {
    for (const name of ['long', 'short', 'last']) {
      read.push(name);
      const samples = Array.from({ length: name === 'long' ? 5000 : 1 }, (_, value) => ({ labels: {}, value }));
      yield { name, type: 'gauge', help: '', samples };
    }
  }
  const parts = binaryParts(families());
  const [first] = [parts.next().value ?? Buffer.alloc(0)];
  expect(read).toEqual(['long']);
  const rest = [...parts];
  expect(rest).toHaveLength(1);
  expect(Buffer.concat([first, ...rest])).toEqual(pageOf([...families()]));
});
