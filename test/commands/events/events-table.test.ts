import { expect, test } from 'vitest';
import { eventsTable, isWanted } from '../../../src/commands/events/events-table.ts';
import { NOW } from '../../builders/pods.ts';

const pulled = {
  namespace: 'default',
  name: 'web-edge1',
  type: 'Normal',
  reason: 'Pulled',
  message: 'Image is there\nand more',
  container: 'app',
  count: 3,
  firstAt: NOW - 60_000,
  lastAt: NOW - 5000,
} as const;
const pressure = {
  name: 'edge1',
  type: 'Warning',
  reason: 'NodeHasDiskPressure',
  message: 'Low disk',
  count: 1,
  firstAt: NOW,
  lastAt: NOW,
} as const;

test('events are listed as by kubectl, with their repeats', async () => {
  expect(await eventsTable([pulled, pressure], { headers: true, now: NOW })).toBe(
    [
      'LAST SEEN   TYPE      REASON                OBJECT              MESSAGE',
      '5s          Normal    Pulled                default/web-edge1   app: Image is there (x3 over 60s)',
      '0s          Warning   NodeHasDiskPressure   node/edge1          Low disk',
      '',
    ].join('\n'),
  );
  expect(await eventsTable([], { headers: true, now: NOW })).toBe('No events.\n');
  expect(await eventsTable([], { headers: false, now: NOW })).toBe('');
});

test('events are chosen by type and namespace', () => {
  expect([pulled, pressure].map((event) => isWanted(event, {}))).toEqual([true, true]);
  expect([pulled, pressure].map((event) => isWanted(event, { types: 'Warning' }))).toEqual([false, true]);
  expect([pulled, pressure].map((event) => isWanted(event, { namespace: 'default' }))).toEqual([true, false]);
});
