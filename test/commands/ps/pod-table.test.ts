import { expect, test } from 'vitest';
import { podTable, shownRevisions } from '../../../src/commands/ps/pod-table.ts';
import { makePod } from '../../builders/pods.ts';

const pods = shownRevisions(
  [
    makePod({ metadata: { name: 'web', labels: { tier: 'front', 'example.org/app': 'web' } } }),
    makePod({ metadata: { name: 'db' } }),
  ].map((pod) => ({ pod })),
);

test('labels have columns of their own before the reason', async () => {
  const table = await podTable(pods, {
    wide: false,
    labelKeys: ['example.org/app', 'tier'],
    showLabels: true,
    headers: true,
    now: 0,
    reasons: ['', 'it waits'],
    painter: (_style, text) => text,
  });
  const afterAge = table.split('\n').map((line) => line.split(/ {2,}/).slice(6));
  expect(afterAge).toEqual([
    ['APP', 'TIER', 'LABELS', 'REASON'],
    ['web', 'front', 'example.org/app=web,tier=front'],
    ['<none>', '<none>', '<none>', 'it waits'],
    [],
  ]);
});
