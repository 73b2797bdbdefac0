import { expect, test } from 'vitest';
import { computeLayout, type Pane } from '../../src/tui/layout.ts';

const layoutOf = (podCount: number, pane: Pane, problemLineCount = 0): object => {
  const { pods, events, problems } = computeLayout({ rows: 24, header: 1, podCount, problemLineCount, pane });
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
