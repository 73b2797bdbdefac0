import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, systemClock } from './clock.ts';

/** Bytes between two collections. */
const collectEveryBytes = 2 * 1024 * 1024;

/** All objects are collected when the heap has grown by so much, and by this share of what is alive. */
const heapGrowth = { bytes: 3 * 1024 * 1024, share: 0.1 };
/** How many times as long as a collection of all objects the agent waits before the next one. */
const restTimes = 8;

/** Milliseconds after the last 2 MiB of a flood until V8's own collections suffice again. */
const floodEndsAfterMs = 60_000;

/** V8's heap of this process. */
interface Heap {
  /** Collects young objects in a millisecond or two, or all objects in 10 to 50. */
  collect(objects: 'young' | 'all'): void;
  usedBytes(): number;
  /** Calls the listener after collections, by V8 too, until the returned function is called. */
  onCollected(listener: () => void): () => void;
}

/**
 * Collects the garbage of floods. V8 sees little of the parts of a stream, because their bytes are outside its heap,
 * and would keep 30 to 60 MB of them. So young objects are collected in between. A flood also brings garbage of other
 * kinds. V8 begins late to mark it, and needs a while, so that its heap takes 10 MB more than what is alive. So all
 * objects are collected when the heap has grown.
 */
export class FloodGarbage {
  private readonly heap: Heap;
  private readonly clock: Pick<Clock, 'monotonic'>;
  private bytesSinceCollection = 0;
  private lastFloodMonotonic = -Infinity;
  private endWatch: (() => void) | undefined;
  /** Bytes of the heap after the last collection of all objects, by V8 or by this. */
  private liveBytes = Infinity;
  private nextOfAllMonotonic = -Infinity;

  constructor(heap: Heap, clock: Pick<Clock, 'monotonic'>) {
    this.heap = heap;
    this.clock = clock;
  }

  note(bytes: number): void {
    this.bytesSinceCollection += bytes;
    if (this.bytesSinceCollection < collectEveryBytes) return;
    this.bytesSinceCollection = 0;
    this.lastFloodMonotonic = this.clock.monotonic();
    this.endWatch ??= this.heap.onCollected(() => {
      this.look();
    });
    this.heap.collect('young');
  }

  private look(): void {
    const begunMonotonic = this.clock.monotonic();
    if (begunMonotonic > this.lastFloodMonotonic + floodEndsAfterMs) {
      this.endWatch?.();
      this.endWatch = undefined;
      this.liveBytes = Infinity;
      return;
    }
    const usedBytes = this.heap.usedBytes();
    this.liveBytes = Math.min(this.liveBytes, usedBytes);
    const growthBytes = Math.max(heapGrowth.bytes, this.liveBytes * heapGrowth.share);
    if (usedBytes < this.liveBytes + growthBytes || begunMonotonic < this.nextOfAllMonotonic) return;
    this.heap.collect('all');
    this.liveBytes = this.heap.usedBytes();
    const endedMonotonic = this.clock.monotonic();
    this.nextOfAllMonotonic = endedMonotonic + (endedMonotonic - begunMonotonic) * restTimes;
  }
}

let ownGarbage: FloodGarbage | undefined;

/** Must be called with the length of each part of a stream that may be endless and is mostly dropped. */
export function notePassingBytes(bytes: number): void {
  ownGarbage ??= new FloodGarbage(ownHeap(), systemClock);
  ownGarbage.note(bytes);
}

/** The heap of this process. */
export function ownHeap(): Heap {
  let collectObjects: ((options?: { type: 'minor' }) => void) | undefined;
  return {
    collect: (objects) => {
      collectObjects ??= exposedCollection();
      if (objects === 'young') collectObjects({ type: 'minor' });
      // In Node 20 any argument means young objects.
      else collectObjects();
    },
    usedBytes: () => getHeapStatistics().used_heap_size,
    onCollected: (listener) => {
      const observer = new PerformanceObserver(listener);
      observer.observe({ entryTypes: ['gc'] });
      return () => {
        observer.disconnect();
      };
    },
  };
}

function exposedCollection(): (options?: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc');
  // A context has the function only if it was made after the flag was set.
  return runInNewContext('gc') as () => void;
}
