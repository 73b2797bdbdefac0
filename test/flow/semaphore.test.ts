import { EventEmitter, once } from 'node:events';
import { queryObjects } from 'node:v8';
import { expect, test } from 'vitest';
import { Semaphore } from '../../src/flow/semaphore.ts';

const never = new AbortController().signal;
const gone = new Error('gone');

/** Work that runs until `ends` emits its name. */
function start(
  turns: Semaphore,
  signal: AbortSignal,
  ends: EventEmitter,
  name: string,
  did: string[],
): Promise<unknown> {
  const work = async (): Promise<void> => {
    did.push(`${name} begins`);
    await once(ends, name);
    did.push(`${name} ends`);
  };
  return turns.run(work, signal).catch((error: unknown) => did.push(`${name} is rejected: ${String(error)}`));
}

test('runs so much work at a time, in order', async () => {
  const turns = new Semaphore(2);
  const ends = new EventEmitter();
  const did: string[] = [];
  const all = Promise.all(['a', 'b', 'c', 'd'].map((name) => start(turns, never, ends, name, did)));
  for (const name of ['b', 'a', 'c', 'd']) {
    await new Promise(setImmediate);
    ends.emit(name);
  }
  await all;
  expect(did).toEqual(['a begins', 'b begins', 'b ends', 'c begins', 'a ends', 'd begins', 'c ends', 'd ends']);
});

test('returns the result of the work and rejects as it does, and continues with the next', async () => {
  const turns = new Semaphore(1);
  const results = [() => Promise.resolve('a'), () => Promise.reject(gone), () => Promise.resolve('b')];
  expect(await Promise.allSettled(results.map((work) => turns.run(work, never)))).toEqual([
    { status: 'fulfilled', value: 'a' },
    { status: 'rejected', reason: gone },
    { status: 'fulfilled', value: 'b' },
  ]);
});

test('drops work that is aborted before its turn at once, and lets running work end', async () => {
  const turns = new Semaphore(1);
  const ends = new EventEmitter();
  const did: string[] = [];
  const stop = new AbortController();
  const all = Promise.all([
    start(turns, stop.signal, ends, 'a', did),
    start(turns, stop.signal, ends, 'b', did),
    start(turns, never, ends, 'c', did),
  ]);
  await new Promise(setImmediate);
  stop.abort(gone);
  await new Promise(setImmediate);
  await start(turns, stop.signal, ends, 'd', did);
  expect(did).toEqual(['a begins', 'b is rejected: Error: gone', 'd is rejected: Error: gone']);
  ends.emit('a');
  await new Promise(setImmediate);
  ends.emit('c');
  await all;
  expect(did.slice(3)).toEqual(['a ends', 'c begins', 'c ends']);
});

test('keeps nothing of dropped work', async () => {
  class Kept {
    readonly value = 1;
  }
  const turns = new Semaphore(1);
  void turns.run(() => new Promise(() => undefined), never);
  for (let round = 0; round < 10; round += 1) {
    const stop = new AbortController();
    const held = new Kept();
    const dropped = turns.run(() => Promise.resolve(held), stop.signal);
    stop.abort(gone);
    await expect(dropped).rejects.toBe(gone);
  }
  await new Promise(setImmediate);
  expect(queryObjects(Kept, { format: 'count' })).toBe(0);
});
