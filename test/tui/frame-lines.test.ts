import { expect, test } from 'vitest';
import { frameOf } from '../../src/tui/frame-lines.ts';
import { initialViewState, reduce } from '../../src/tui/view-state.ts';
import { makeEntry, makeSnapshot, noon } from './make-snapshot.ts';

test('a frame reads only the lines of the log that it shows', () => {
  const initial = initialViewState(makeSnapshot([makeEntry('web')]), noon, { columns: 120, rows: 40 });
  const state = reduce(initial, { type: 'tailOpened', id: 1, args: ['logs', '-f', 'default/web'] });
  const lines = Array.from({ length: 5000 }, (_, index) => `line ${index}`);
  Object.defineProperty(lines, 0, {
    get: () => {
      throw new Error('the oldest line was read');
    },
  });
  const { sections } = frameOf({ ...state, tail: state.tail && { ...state.tail, lines } }, undefined);
  expect(sections.find(({ name }) => name === 'log')?.rows.at(-1)).toBe('line 4999');
});
