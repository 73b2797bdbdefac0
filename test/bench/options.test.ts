import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { boxMeasures, ownMeasures, stageMeasures } from '../../bench/measures.ts';
import { parseOptions } from '../../bench/options.ts';

const names = Object.keys({ ...stageMeasures, ...boxMeasures, ...ownMeasures });
const page = readFileSync(new URL('../../docs/internals/performance.md', import.meta.url), 'utf8');

test('docs/internals/performance.md names every measure', () => {
  const [, line = ''] = /`--only` accepts ([^.]*)\./.exec(page) ?? [];
  expect([...line.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual(names);
});

test('the bench accepts the options of docs/internals/performance.md, and no unknown measure', () => {
  const given = [
    '--json',
    'f.json',
    '--containerd',
    '1.6,2',
    '--agent',
    'other',
    '--sizes',
    '125,250',
    '--only',
    'scale',
  ];
  const usual = {
    json: undefined,
    runs: 10,
    sizes: [125, 250, 500, 1000],
    only: undefined,
    agents: [],
    podman: undefined,
    report: false,
    containerd: ['installed'],
  };
  expect([parseOptions([], names), parseOptions(given, names)]).toEqual([
    usual,
    { ...usual, json: 'f.json', sizes: [125, 250], only: ['scale'], agents: ['other'], containerd: ['1.6', '2'] },
  ]);
  expect(parseOptions(['--report'], names)).toEqual({
    ...usual,
    report: true,
    sizes: [1000],
    only: ['one', 'init', 'many', 'boot', 'scrape', 'run-once', 'box', 'scale'],
  });
  expect(() => parseOptions(['--report', '--containerd', '1.6,2'], names)).toThrow('name one release of containerd');
  expect(() => parseOptions(['--only', 'idle'], names)).toThrow('there is no measure "idle"');
});
