import { expect, test } from 'vitest';
import { computeLayout, type Pane } from '../../src/tui/layout.ts';

const small = { columns: 80, rows: 24, header: 1, reasonCount: 0 };

const layoutOf = (podCount: number, pane: Pane, problemLineCount = 0): object => {
  const { pods, events, problems } = computeLayout({ ...small, podCount, problemLineCount, pane });
  return { pods, events, problems };
};

test.each<[title: string, podCount: number, pane: Pane, problemLineCount: number, expected: object]>([
  ['all pods that fit are shown before events', 30, 'pods', 0, { pods: 22, events: 0, problems: 0 }],
  ['events get what few pods leave', 4, 'pods', 0, { pods: 5, events: 17, problems: 0 }],
  ['most rows are for events where they are chosen', 30, 'events', 0, { pods: 9, events: 13, problems: 0 }],
  ['problems have a few rows', 30, 'pods', 40, { pods: 17, events: 0, problems: 5 }],
  ['most rows are for problems where they are chosen', 30, 'problems', 40, { pods: 9, events: 0, problems: 13 }],
])('%s', (_title, podCount, pane, problemLineCount, expected) => {
  expect(layoutOf(podCount, pane, problemLineCount)).toEqual(expected);
});

test.each([
  ['reasons have their own rows if all of them fit', { podCount: 10, reasonCount: 5 }, { pods: 16, events: 6, log: 0 }],
  [
    'no reason has a row if one of them would not fit',
    { podCount: 20, reasonCount: 5 },
    { pods: 21, events: 0, log: 0 },
  ],
  [
    'a large terminal keeps half of its rows for events and the log',
    { podCount: 60, reasonCount: 0, columns: 200, rows: 50 },
    { pods: 24, events: 12, log: 12 },
  ],
  [
    'a large terminal divides what few pods leave',
    { podCount: 4, reasonCount: 0, columns: 200, rows: 50 },
    { pods: 5, events: 22, log: 21 },
  ],
])('%s', (_title, options, expected) => {
  expect(computeLayout({ ...small, problemLineCount: 0, pane: 'pods', ...options })).toMatchObject(expected);
});
