import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FloodGarbage, ownHeap } from '../src/passing-bytes.ts';

const mib = 1024 * 1024;

/** A heap with 20 MiB of live objects, all of which are collected in 10 ms. */
function describedHeap() {
  const collections: string[] = [];
  let nowMs = 0;
  let garbageBytes = 0;
  const heap = {
    collect: (objects: 'young' | 'all') => {
      collections.push(objects);
      if (objects === 'young') return;
      garbageBytes = 0;
      nowMs += 10;
    },
    usedBytes: () => 20 * mib + garbageBytes,
  };
  const garbage = new FloodGarbage(heap, { monotonic: () => nowMs });
  return {
    /** Collections when so much garbage was made, after 2 MiB of a flood that took so long. */
    collected: ({ grownMiB, ms = 0 }: { grownMiB: number; ms?: number }): string[] => {
      nowMs += ms;
      garbageBytes += grownMiB * mib;
      collections.length = 0;
      garbage.note(mib);
      garbage.note(mib);
      return [...collections];
    },
  };
}

test('young objects are collected for each 2 MiB, all objects when the heap has grown by 4 MiB', () => {
  const { collected } = describedHeap();
  expect([0, 3, 1, 3].map((grownMiB) => collected({ grownMiB }))).toEqual([
    ['young'],
    ['young'],
    ['young', 'all'],
    ['young'],
  ]);
});

test('the next collection of all objects waits 20 times as long as the last one took', () => {
  const { collected } = describedHeap();
  collected({ grownMiB: 0 });
  collected({ grownMiB: 4 });
  expect([collected({ grownMiB: 4 }), collected({ grownMiB: 4, ms: 199 }), collected({ grownMiB: 0, ms: 1 })]).toEqual([
    ['young'],
    ['young'],
    ['young', 'all'],
  ]);
});

test('what V8 collected by itself is no growth', () => {
  const { collected } = describedHeap();
  collected({ grownMiB: 2 });
  expect([collected({ grownMiB: -2 }), collected({ grownMiB: 3 }), collected({ grownMiB: 1 })]).toEqual([
    ['young'],
    ['young'],
    ['young', 'all'],
  ]);
});

test('old garbage of this process is gone after a flood', async () => {
  const garbage = new FloodGarbage(ownHeap(), { monotonic: () => 0 });
  const flood = (): void => {
    garbage.note(2 * mib);
  };
  const held: object[] = [];
  /** Some 7 MB. Of a function of its own, because the variables of a test may hold what was in them. */
  const hold = (): WeakRef<object> => {
    const objects = Array.from({ length: 200_000 }, (_, index) => ({ index }));
    held.push(objects);
    return new WeakRef(objects);
  };
  flood();
  const first = hold();
  flood();
  held.pop();
  // A weak reference holds its object until the turn ends.
  await turn();
  const second = hold();
  flood();
  expect([first.deref() === undefined, second.deref() === undefined]).toEqual([true, false]);
});
