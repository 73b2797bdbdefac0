import { EventEmitter, once } from 'node:events';
import { queryObjects } from 'node:v8';
import pLimit from 'p-limit';
import { expect, test } from 'vitest';
import { inTurn } from '../../src/flow/in-turn.ts';

const never = new AbortController().signal;
const gone = new Error('gone');

test('runs the work in its turn and returns its result', async () => {
  const limit = pLimit(1);
  const ends = new EventEmitter();
  const first = once(ends, 'first').then(() => 'a');
  const did: string[] = [];
  const results = Promise.all([
    inTurn(limit, never, () => first),
    inTurn(limit, never, () => {
      did.push('second');
      return Promise.resolve('b');
    }),
  ]);
  await new Promise(setImmediate);
  expect(did).toEqual([]);
  ends.emit('first');
  expect(await results).toEqual(['a', 'b']);
});

test('rejects as the work does', async () => {
  await expect(inTurn(pLimit(1), never, () => Promise.reject(gone))).rejects.toBe(gone);
});

test('rejects before the turn of the work when the signal is aborted, and keeps nothing of the work', async () => {
  class Kept {
    readonly value = 1;
  }
  const kept = (): number => queryObjects(Kept, { format: 'count' });
  const limit = pLimit(1);
  void limit(() => new Promise(() => undefined));
  const before = kept();
  for (let round = 0; round < 10; round += 1) {
    const signal = new AbortController();
    const held = new Kept();
    const turn = inTurn(limit, signal.signal, () => Promise.resolve(held));
    signal.abort(gone);
    await expect(turn).rejects.toBe(gone);
  }
  await new Promise(setImmediate);
  expect({ waiting: limit.pendingCount, kept: kept() - before }).toEqual({ waiting: 10, kept: 0 });
});

test('waits for the work that runs when the signal is aborted', async () => {
  const stop = new AbortController();
  const ends = new EventEmitter();
  const work = once(ends, 'work');
  const did: string[] = [];
  const turn = inTurn(pLimit(1), stop.signal, () => work.then(() => did.push('work'))).catch((error: unknown) =>
    did.push(String(error)),
  );
  await new Promise(setImmediate);
  stop.abort(gone);
  await new Promise(setImmediate);
  expect(did).toEqual([]);
  ends.emit('work');
  await turn;
  expect(did).toEqual(['work', 'Error: gone']);
});
