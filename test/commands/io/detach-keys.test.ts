import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { DetachFilter, parseDetachKeys } from '../../../src/commands/io/detach-keys.ts';

test.each([
  ['ctrl-p,ctrl-q', [16, 17]],
  ['a', [97]],
  ['ctrl-],~', [29, 126]],
  ['Ctrl-@', [0]],
  ['', []],
])('the keys %j are the bytes %j', (keys, bytes) => {
  expect([...parseDetachKeys(keys)]).toEqual(bytes);
});

test.each(['ctrl-', 'ctrl-1', 'ab', 'a,', 'é'])('%j is refused', (keys) => {
  expect(() => parseDetachKeys(keys)).toThrow(/^--detach-keys ".*": ".*" is not a key$/);
});

/** What passes a filter for `pq`, and how often it detached. */
async function passed(...chunks: string[]): Promise<{ text: string; detached: number }> {
  let detached = 0;
  const filter = new DetachFilter(Buffer.from('pq'), () => {
    detached += 1;
  });
  for (const chunk of chunks) filter.write(chunk);
  filter.end();
  return { text: await text(filter), detached };
}

test('without keys everything passes', async () => {
  const filter = new DetachFilter(Buffer.alloc(0), () => {
    throw new Error('nobody detached');
  });
  filter.end('p\x10\x11q');
  expect(await text(filter)).toBe('p\x10\x11q');
});

test.each([
  [['hello pq world', 'pq'], { text: 'hello ', detached: 1 }],
  [['a p', 'q b'], { text: 'a ', detached: 1 }],
  [['ppq'], { text: 'p', detached: 1 }],
  [['px p', 'x', 'p'], { text: 'px pxp', detached: 0 }],
])('withholds the detach keys in %j and everything after them', async (chunks, result) => {
  expect(await passed(...chunks)).toEqual(result);
});
