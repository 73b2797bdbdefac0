import { setFlagsFromString } from 'node:v8';

/** Until then V8 has all the room it wants: the first pods start sooner. Much longer, and a flood takes tens of megabytes. */
const growAfterMs = 10_000;

/**
 * Keeps V8 from growing its space for young objects, and after the start that for old ones by more than 40 % at a time. The
 * start of many pods, or a flood of answers, would make both tens of megabytes larger, which an agent that then idles for
 * months would hold on to. Options of the command line that do the same make Node itself start slower.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setTimeout(() => {
    setFlagsFromString('--heap-growing-percent=40');
  }, growAfterMs).unref();
}
