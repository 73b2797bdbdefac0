import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FloodGarbage, ownHeap } from '../src/passing-bytes.ts';

const mib = 1024 * 1024;

/** A heap, all objects of which are collected in 10 ms, and a flood. */
function describedHeap({ liveMiB = 20 } = {}) {
  const collections: string[] = [];
  const listeners = new Set<() => void>();
  let nowMs = 0;
  let garbageBytes = 0;
  const heap = {
    collect: (objects: 'young' | 'all') => {
      collections.push(objects);
      if (objects === 'young') return;
      garbageBytes = 0;
      nowMs += 10;
    },
    usedBytes: () => liveMiB * mib + garbageBytes,
    onCollected: (listener: () => void) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
  const garbage = new FloodGarbage(heap, { monotonic: () => nowMs });
  const flood = (bytes = 2 * mib): string[] => {
    collections.length = 0;
    garbage.note(bytes);
    return [...collections];
  };
  return {
    listeners,
    flood,
    /** Collections when so much garbage was made in so long, after V8 collected young objects. */
    grown: (byMiB: number, { ms = 0 } = {}): string[] => {
      nowMs += ms;
      garbageBytes += byMiB * mib;
      collections.length = 0;
      for (const listener of listeners) listener();
      return [...collections];
    },
  };
}

test('young objects are collected for each 2 MiB that pass', () => {
  const { flood } = describedHeap();
  expect([2 * mib - 1, 1, 1, 2 * mib].map(flood)).toEqual([[], ['young'], [], ['young']]);
});

test('all objects are collected when the heap has grown by 3 MiB', () => {
  const { flood, grown } = describedHeap();
  flood();
  expect([0, 2, 1, 2].map((byMiB) => grown(byMiB))).toEqual([[], [], ['all'], []]);
});

test('the next collection of all objects waits 8 times as long as the last one took', () => {
  const { flood, grown } = describedHeap();
  flood();
  grown(0);
  grown(3);
  expect([grown(3), grown(3, { ms: 79 }), grown(0, { ms: 1 })]).toEqual([[], [], ['all']]);
});

test('memory that V8 collected by itself is no growth', () => {
  const { flood, grown } = describedHeap();
  flood();
  grown(2);
  expect([-2, 2, 1].map((byMiB) => grown(byMiB))).toEqual([[], [], ['all']]);
});

test('a heap of more than 30 MiB may grow by a tenth', () => {
  const { flood, grown } = describedHeap({ liveMiB: 50 });
  flood();
  expect([0, 4, 1].map((byMiB) => grown(byMiB))).toEqual([[], [], ['all']]);
});

test('a minute after a flood V8 collects by itself, until the next one', () => {
  const { listeners, flood, grown } = describedHeap();
  const watches = [listeners.size];
  flood();
  grown(0);
  expect(grown(3, { ms: 60_000 })).toEqual(['all']);
  watches.push(listeners.size);
  expect(grown(3, { ms: 1 })).toEqual([]);
  watches.push(listeners.size);
  flood();
  watches.push(listeners.size);
  expect({ watches, now: [grown(0), grown(3, { ms: 80 })] }).toEqual({ watches: [0, 1, 0, 1], now: [[], ['all']] });
});

test('old garbage of this process is collected', async () => {
  const heap = ownHeap();
  const held: object[] = [];
  /** Of a function of its own, because the variables of a test may hold what was in them. */
  const hold = (): WeakRef<object> => {
    const object = {};
    held.push(object);
    return new WeakRef(object);
  };
  const gone = hold();
  const stays = hold();
  // After two collections it is old.
  heap.collect('young');
  heap.collect('young');
  held.shift();
  // A weak reference holds its object until the turn ends.
  await turn();
  heap.collect('all');
  expect([gone.deref() === undefined, stays.deref() === undefined]).toEqual([true, false]);
});

/** Makes garbage of some 40 MB that collections of young objects do not find. */
function makeOldGarbage(): void {
  const heap = ownHeap();
  const objects = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  heap.collect('young');
  heap.collect('young');
  expect(objects.length).toBe(1_000_000);
}

test('after a flood the heap of this process is as small as before', async () => {
  const heap = ownHeap();
  let nowMs = 0;
  // One of its own: that of the process may have collected all objects a moment ago, and rests.
  const garbage = new FloodGarbage(heap, { monotonic: () => nowMs });
  /** Resolves when V8 has reported the collection. */
  const reported = async (collect: () => void): Promise<void> => {
    const report = new Promise<void>((resolve) => {
      const observer = new PerformanceObserver(() => {
        observer.disconnect();
        resolve();
      });
      observer.observe({ entryTypes: ['gc'] });
    });
    collect();
    await report;
  };
  const flood = (): Promise<void> =>
    reported(() => {
      garbage.note(2 * mib);
    });
  await flood();
  const before = heap.usedBytes();
  makeOldGarbage();
  const grown = heap.usedBytes() - before;
  await flood();
  expect([grown > 30 * mib, heap.usedBytes() - before < 20 * mib]).toEqual([true, true]);
  // So long after the flood it stops looking.
  nowMs = 60_001;
  await reported(() => {
    heap.collect('young');
  });
});
